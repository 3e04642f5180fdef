"""Small policies for ledger tests, a way to read them back from a text, and ledgers made where there are none."""

import os
from fractions import Fraction
from typing import Any

import blowfish_privacy as bp
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.loss import EVERY, Loss

AGES = bp.Domain(age=bp.Integer(0, 20))
PEOPLE = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["F", "M"]))


def people(theta: int, sex: bp.FullDomain | bp.Public, most: int = 20) -> bp.Policy:
    domain = bp.Domain(age=bp.Integer(0, most), sex=bp.Categorical(["F", "M"]))
    return bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(theta), sex=sex))


POLICIES = {
    "full": bp.Policy(AGES, secrets=bp.FullDomain()),
    "near": bp.Policy(AGES, secrets=bp.DistanceThreshold(1)),
    "near5": bp.Policy(AGES, secrets=bp.DistanceThreshold(5)),
    "blocks": bp.Policy(AGES, secrets=bp.Partition(widths={"age": 7})),
    "people": people(5, bp.FullDomain()),
    "public sex": people(5, bp.Public()),
    "known": bp.Policy(PEOPLE, secrets=bp.FullDomain(), known=[bp.KnownMarginal("sex")]),
    **{
        f"stated {count}": bp.Policy(PEOPLE, secrets=bp.FullDomain(), known=[bp.KnownCount({"sex": "F"}, count=count)])
        for count in (1, 2, 3, 4)
    },
}


def load(text: str) -> bp.Policy:
    return POLICIES[text]


def ledger_at(path: str | os.PathLike[str], budget: Fraction = Fraction(1), **options: Any) -> SqliteLedger:
    """Open a ledger, or make it."""
    options = {"load_policy": load, **options}
    if os.path.exists(path):
        return SqliteLedger.open(path, budget=budget, **options)
    return SqliteLedger.create(path, budget=budget, **options)


def request(key: str, epsilon: str | Fraction = "1/10", policy: str = "full", **more: str) -> dict:
    """The arguments of a charge."""
    return {
        "loss": Loss.alike((EVERY,), Fraction(epsilon)),
        "policy": POLICIES[policy],
        "policy_text": policy,
        "key": key,
        "description": f"release {key}",
        "mechanism": "laplace",
        **more,
    }
