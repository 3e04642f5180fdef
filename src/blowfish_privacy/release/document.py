"""The release document: one JSON text with the noisy values and everything needed to check them.

It carries what was released, how, and what that proves. It never carries a count, a hash or any other function of the
private data but the noisy values, and the number of records where the policy makes it public.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import BlowfishWarning, QueryError, SpecError
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.queries import Query
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.version import __version__

FORMAT = "blowfish-privacy release"
VERSION = 1
PACKAGE = "blowfish-privacy"
KEYS = {
    *("format", "version", "name", "query", "values", "unit", "records", "error", "mechanism", "guarantee", "policy"),
    *("post_processing", "notices", "randomness", "package", "time", "ledger"),
}
"""What every document states, besides its hash and the parts of a parallel release."""
DAMAGE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError, RecursionError)
"""What reading a document may raise where a part of it is missing or has another form."""
MOST_VALUES = 40_000_000
"""SQLite stores texts below 10^9 bytes. A value takes 22 at most; over a tenth is left for the rest of a document."""
PREDICTABLE = "NOT PRIVATE: made with predictable noise."


@dataclass(frozen=True)
class Randomness:
    """What a document says of the source of its random bits."""

    kind: str
    private: bool
    """Whether nobody can predict it."""


@dataclass(frozen=True, eq=False)
class Release:
    """A release document, read back into objects."""

    name: str
    query: Query
    policy: Policy
    mechanism: Mechanism
    certificate: Certificate
    records: int | None
    noisy: npt.NDArray[np.int64]
    """The noisy answers, in units."""
    part: tuple[str, Any] | None
    """For one part of a parallel release, the attribute and the value that all its records share."""
    body: dict[str, Any]


def write(plan: Plan, noisy: npt.NDArray[np.int64], *, source: Randomness, time: str, entry: int) -> dict[str, Any]:
    """Write the document of a release."""
    certificate, error = plan.certificate, plan.expected_error()
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": plan.name,
        "query": plan.query.to_file(plan.policy.domain),
        "values": noisy.tolist(),
        "unit": str(error.unit),
        "records": plan.records,
        "error": {"of": error.of, "mse": error.mse, "rmse": error.rmse, "within_95_in_100": error.interval("0.95")},
        "mechanism": plan.mechanism.to_document(),
        "guarantee": {
            "epsilon": str(certificate.epsilon),
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
        "notices": [*plan.notices(), *([] if source.private else [PREDICTABLE])],
        "randomness": source.kind,
        "package": {"name": PACKAGE, "version": __version__},
        "time": time,
        "ledger": {"key": plan.key, "entry": entry},
    }


_OF_A_PART = ("values", "unit", "records", "error", "mechanism", "guarantee", "notices")


def join(attribute: str, bodies: Mapping[Any, dict[str, Any]], *, left_out: int) -> dict[str, Any]:
    """Join the documents of a parallel release into one, whose guarantee is that of its costliest part.

    ``left_out`` says for how many values of the attribute nothing was released.
    """
    costliest = max(bodies.values(), key=lambda body: Fraction(body["guarantee"]["epsilon"]))
    parts = [{"value": value, **{key: body[key] for key in _OF_A_PART}} for value, body in bodies.items()]
    whole = {**costliest, "values": [], "records": None}
    return {**whole, "parallel": {"attribute": attribute, "left_out": left_out, "parts": parts}}


def dumps(body: dict[str, Any]) -> str:
    """Write a document as text, sealed with the hash of its content; one line for each key."""
    lines = _lines(body)
    sealed = {**lines, "sha256": json.dumps(_seal(lines))}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {value}" for key, value in sealed.items()) + "\n}\n"


def check_length(values: int) -> None:
    """Refuse so many values that the document could be longer than a ledger can store."""
    if values > MOST_VALUES:
        raise QueryError(
            f"a document of {values:,} values may be too long for a ledger, which can store {MOST_VALUES:,}.",
            hint="ask for fewer attributes together, or declare coarser ones.",
        )


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


def parse(text: str) -> dict[str, Any]:
    """Read the text of a document."""
    try:
        body = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError, TypeError):
        body = None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise SpecError("this is not a release document.", hint="give the .release.json file that a release wrote.")
    if type(body.get("version")) is not int or body["version"] != VERSION:
        raise SpecError(f"this document has another version; this package reads version {VERSION}.")
    return body


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def read(body: dict[str, Any], part: dict[str, Any] | None = None) -> Release:
    """Rebuild the release of a document, or of one part of it; the certificate is derived anew."""
    try:
        return _read(body, part)
    except DAMAGE:
        pass
    raise SpecError("the document is damaged: a part is missing or has the wrong form.")


def _read(body: dict[str, Any], part: dict[str, Any] | None) -> Release:
    own = body if part is None else {**body, **{key: part[key] for key in _OF_A_PART}}
    _check_labels(own, part)
    with warnings.catch_warnings():
        # Who published the document was warned; its card and its notices say it.
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = spec.policy_from_section(spec.PolicySection.model_validate(own["policy"]))
    query = _read_query(own["query"])
    kind = MECHANISMS[own["mechanism"]["name"]]
    records = _checked_records(own["records"], policy)
    mechanism = kind.from_document(query, policy, own["mechanism"], records)
    noisy = _whole_numbers(own["values"])
    if not mechanism.fits(noisy):
        raise SpecError("the document is damaged: it has another number of values than its query.")
    place = None if part is None else (body["parallel"]["attribute"], part["value"])
    certificate = mechanism.certify(policy)
    return Release(own["name"], query, policy, mechanism, certificate, records, noisy, place, own)


def _check_labels(own: dict[str, Any], part: dict[str, Any] | None) -> None:
    """Check what results hand on as it is."""
    texts = [own["name"], own["guarantee"]["statement"], *own["notices"]]
    if part is not None and not isinstance(part["value"], str | int):
        raise SpecError("the document is damaged: a part is not that of one value.")
    if not isinstance(own["notices"], list) or not all(isinstance(text, str) for text in texts):
        raise SpecError("the document is damaged: its name, statement or notices are not text.")


def _checked_records(records: Any, policy: Policy) -> int | None:
    if (records is None) != (policy.size == "unknown"):
        raise SpecError("the document is damaged: the number of records is stated exactly when it is public.")
    if records is not None and (type(records) is not int or not 0 <= records < 2**63):
        raise SpecError("the document is damaged: the number of records is not a whole number.")
    return records


def _whole_numbers(values: Any) -> npt.NDArray[np.int64]:
    array = np.array(values)
    whole = isinstance(values, list) and all(type(value) is int for value in values)
    if not whole or (array.size and array.dtype.kind != "i"):
        raise SpecError("the document is damaged: its values are not whole numbers.")
    return array.astype(np.int64)


def parts_of(body: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Return the parts of a parallel release, or nothing but the release itself."""
    if "parallel" not in body:
        return [None]
    parallel = body["parallel"]
    parts = parallel.get("parts") if isinstance(parallel, dict) else None
    keys = {"value", *_OF_A_PART}
    named = isinstance(parallel, dict) and isinstance(parallel.get("attribute"), str)
    whole = isinstance(parts, list) and all(isinstance(part, dict) and set(part) == keys for part in parts)
    if not parts or not named or not whole:
        raise SpecError("the document is damaged: its parts have another form.")
    return list(parts)


def _read_query(written: dict[str, Any]) -> Query:
    (keyword,) = [key for key in written if key in Query.kinds]
    return Query.kinds[keyword].from_file(written)


def _witness(plan: Plan) -> Any:
    witness = plan.certificate.sensitivity.witness
    if witness is None:
        return None
    return [[{name: str(value) for name, value in record.items()} for record in side] for side in witness]
