"""The release document: one JSON text with the noisy values and everything needed to check them.

Values that are very many are in a file beside it, whose hash it states (``kept_values.py``). It carries what was
released, how, and what that proves. It never carries a count, a hash or any other function of the private data but the
noisy values and, where the policy makes them public, the number of records and of those in each block that no secret
pair leaves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.privacy.measure import meanings, short
from blowfish_privacy.release import spec
from blowfish_privacy.release.kept_values import KeptValues, Noisy
from blowfish_privacy.release.notices import own_notices
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.support.exact import show
from blowfish_privacy.version import __version__

FORMAT = "blowfish-privacy release"
VERSION = 1
PACKAGE = "blowfish-privacy"
KEYS = {
    *("format", "version", "name", "query", "values", "unit", "records", "error", "mechanism", "guarantee", "policy"),
    *("post_processing", "notices", "randomness", "package", "time", "ledger"),
}
"""What every document states, besides its hash and its groups."""
PREDICTABLE = "NOT PRIVATE: made with predictable noise."


@dataclass(frozen=True)
class Randomness:
    """What a document says of the source of its random bits."""

    kind: str
    private: bool
    """Whether nobody can predict it."""


def write(plan: Plan, noisy: Noisy, *, source: Randomness, time: str, entry: int) -> dict[str, Any]:
    """Write the document of a release."""
    # What is written follows from the document alone: nothing is assumed.
    certificate, error = plan.certificate, plan.mechanism.expected_error()
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": plan.name,
        "query": plan.asked(),
        "values": noisy.to_document() if isinstance(noisy, KeptValues) else noisy.tolist(),
        "unit": str(error.unit),
        "records": plan.records,
        "error": {"of": error.of, "mse": error.mse, "rmse": error.rmse, "within_95_in_100": error.interval("0.95")},
        "mechanism": plan.mechanism.to_document(),
        "guarantee": {
            **_lost(certificate),
            "statement": certificate.statement if source.private else "none: made with predictable noise",
            "policy_hash": certificate.policy_hash,
            "bounded_differential_privacy": certificate.differential_privacy,
            "sensitivity": str(certificate.sensitivity.value),
            "sensitivity_is_exact": certificate.sensitivity.exact,
            "theorem": certificate.sensitivity.theorem,
            "witness": _witness(plan),
            "proof": certificate.proof,
        },
        "policy": spec.policy_to_section(plan.policy),
        "post_processing": [],
        "notices": [*own_notices(plan), *([] if source.private else [PREDICTABLE])],
        "randomness": source.kind,
        "package": {"name": PACKAGE, "version": __version__},
        "time": time,
        "ledger": {"key": plan.key, "entry": entry},
    }


def dumps(body: dict[str, Any]) -> str:
    """Write a document as text, sealed with the hash of its content; one line for each key."""
    lines = _lines(body)
    sealed = {**lines, "sha256": json.dumps(_seal(lines))}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {value}" for key, value in sealed.items()) + "\n}\n"


def seal(body: dict[str, Any]) -> str:
    """Hash the content of a document, in a form that does not depend on layout."""
    return _seal(_lines(body))


def _lines(body: dict[str, Any]) -> dict[str, str]:
    content = ((key, value) for key, value in body.items() if key != "sha256")
    # The order inside a value is kept: the order of a domain's attributes has a meaning.
    return {key: json.dumps(value) for key, value in content}


def _seal(lines: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for key in sorted(lines):
        digest.update(f"{json.dumps(key)}: {lines[key]}\n".encode())
    return digest.hexdigest()


def _lost(certificate: Certificate) -> dict[str, Any]:
    """Write how much is lost, and what a loss in rho means."""
    measure, amount = certificate.loss.measure, certificate.amount
    meant = {short(delta): show(epsilon) for epsilon, delta in meanings(measure, amount)}
    return {measure.name: str(amount), **({"epsilon_at_delta": meant} if meant else {})}


def _witness(plan: Plan) -> Any:
    witness = plan.certificate.sensitivity.witness
    if witness is None:
        return None
    return [[{name: str(value) for name, value in record.items()} for record in side] for side in witness]
