"""How many steps apart two values are when facts are known (docs/proofs/odds.md).

Without known facts the odds between two values change by at most e^epsilon once for every step. With them a step may
lead through a value that nobody can have, or force other records to move too, so steps are counted only where a proof
says that they add up. Everywhere else, values that are not a secret pair are not protected from each other.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs.graph import Hops, differing
from blowfish_privacy.known_facts.classes.fact_model import FactModel, fact_model
from blowfish_privacy.known_facts.facts.assumptions import Assumptions


def steps(policy: Assumptions, x: Cell, y: Cell) -> Hops:
    """Count the steps between two values, as far as the promise is proved for them; ``math.inf`` if it is not."""
    hops = policy.graph.hops(x, y)
    model = _facts_alone(policy)
    if hops == 0 or model is None:
        return hops if hops <= 1 else inf
    ends = [_class_of(policy, model, cell) for cell in (x, y)]
    if not model.live[ends].all():
        return inf
    return hops if hops == 1 or _add_up(policy, model, ends) or _beside_the_facts(policy, model, x, y) else inf


def steps_add_up(policy: Assumptions) -> bool:
    """Say whether steps may be counted between all values that anybody can have."""
    if policy.graph.complete:
        # No two values are several steps apart.
        return True
    model = _facts_alone(policy)
    return model is not None and _add_up(policy, model, [])


def _add_up(policy: Assumptions, model: FactModel, ends: list[int]) -> bool:
    """Say whether steps add up between two non-empty classes or, if none are given, between any two."""
    if not model.crossing.exists:
        # A chain of secret pairs stays in one class: if one of its values is possible, all are.
        return True
    held = model.counts > 0
    held[ends] = True
    return bool(held.all()) and policy.compensation == "anywhere" and model.incidence.nullity == 0


@lru_cache(maxsize=64)
def _facts_alone(policy: Assumptions) -> FactModel | None:
    try:
        return fact_model(policy, ())
    except RefusalError:
        return None


def _class_of(policy: Assumptions, model: FactModel, cell: Cell) -> int:
    return model.classes.of(tuple(cell[policy.domain.axis(name)] for name in model.classes.domain.names))


def _beside_the_facts(policy: Assumptions, model: FactModel, x: Cell, y: Cell) -> bool:
    """Say whether a shortest chain changes no known count, since none depends on the attributes that differ."""
    if not policy.graph.homogeneous:
        return False
    names = policy.domain.names
    counted = tuple(names[axis] for axis in differing(x, y) if names[axis] in model.classes.domain.names)
    return not counted or model.crossing.unchanged(counted)
