"""The release document: one JSON text with the noisy values and everything needed to check them.

It carries what was released, how, and what that proves. It never carries a count, a hash or any other function of the
private data but the noisy values, and the number of records where the policy makes it public.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy import spec
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.exact import exact
from blowfish_privacy.mechanisms import MECHANISMS, Certificate, Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.plan import Plan
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.version import __version__

FORMAT = "blowfish-privacy release"
VERSION = 1


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


def write(plan: Plan, noisy: npt.NDArray[np.int64], *, source: BitSource, time: str, entry: int) -> dict[str, Any]:
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
            "statement": certificate.statement,
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
        "notices": [*plan.notices(), *([] if source.private else ["NOT PRIVATE: made with predictable noise."])],
        "randomness": source.kind,
        "package": {"name": "blowfish-privacy", "version": __version__},
        "time": time,
        "ledger": {"key": plan.key, "entry": entry},
    }


_OF_A_PART = ("values", "unit", "records", "error", "mechanism", "guarantee", "notices")


def join(attribute: str, bodies: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    """Join the documents of a parallel release into one, whose guarantee is that of its costliest part."""
    costliest = max(bodies.values(), key=lambda body: Fraction(body["guarantee"]["epsilon"]))
    parts = [{"value": value, **{key: body[key] for key in _OF_A_PART}} for value, body in bodies.items()]
    whole = {**costliest, "values": [], "records": None}
    return {**whole, "parallel": {"attribute": attribute, "parts": parts}}


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
    return {key: json.dumps(value, sort_keys=True) for key, value in content}


def _seal(lines: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for key in sorted(lines):
        digest.update(f"{json.dumps(key)}: {lines[key]}\n".encode())
    return digest.hexdigest()


def parse(text: str) -> dict[str, Any]:
    """Read the text of a document."""
    try:
        body = json.loads(text)
    except (json.JSONDecodeError, RecursionError, UnicodeDecodeError):
        body = None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise SpecError("this is not a release document.", hint="give the .release.json file that a release wrote.")
    if body.get("version") != VERSION:
        raise SpecError(f"this document has version {body.get('version')!r}; this package reads version {VERSION}.")
    return body


def read(body: dict[str, Any], part: dict[str, Any] | None = None) -> Release:
    """Rebuild the release of a document, or of one part of it; the certificate is derived anew."""
    own = {**body, **(part or {})}
    try:
        policy = spec.policy_from_section(spec.PolicySection.model_validate(own["policy"]))
        query = _read_query(own["query"])
        kind = MECHANISMS[own["mechanism"]["name"]]
        mechanism = kind.from_document(query, policy, own["mechanism"], own["records"])
        noisy = _whole_numbers(own["values"])
        name = str(own["name"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise SpecError("the document is damaged: a part is missing or has the wrong type.") from None
    if len(noisy) != mechanism.rows:
        raise SpecError("the document is damaged: it has another number of values than its query.")
    place = None if part is None else (str(body["parallel"]["attribute"]), part["value"])
    return Release(name, query, policy, mechanism, mechanism.certify(policy), own["records"], noisy, place, own)


def _whole_numbers(values: Any) -> npt.NDArray[np.int64]:
    array = np.array(values)
    if array.size and (array.dtype.kind != "i" or array.ndim != 1):
        raise SpecError("the document is damaged: its values are not whole numbers.")
    return array.astype(np.int64)


def parts_of(body: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Return the parts of a parallel release, or nothing but the release itself."""
    return list(body["parallel"]["parts"]) if "parallel" in body else [None]


def problems(text: str) -> list[str]:
    """Check a document: schema, hashes, and the certificate and error recomputed from the noise scales it states."""
    body = parse(text)
    found: list[str] = []
    if body.get("sha256") != seal(body):
        found.append("The content was changed after it was written: its hash does not match.")
    for part in parts_of(body):
        try:
            found += _part_problems(read(body, part))
        except BlowfishError as error:
            found.append(f"{error.message}")
    return found


def _part_problems(release: Release) -> list[str]:
    stated, found = release.body.get("guarantee", {}), []
    if stated.get("policy_hash") != release.policy.hash:
        found.append("The policy is not the one whose hash is stated.")
    if _fraction(stated.get("epsilon")) != release.certificate.epsilon:
        found.append("The stated epsilon is not what the noise scales prove.")
    if _fraction(stated.get("sensitivity")) != release.certificate.sensitivity.value:
        found.append("The stated sensitivity is not that of the query under the policy.")
    if stated.get("statement") != release.certificate.statement:
        found.append("The stated guarantee is not the one that was proved.")
    if _fraction(release.body.get("unit")) != release.mechanism.expected_error().unit:
        found.append("The stated unit is not the query's.")
    rmse, error = release.body.get("error", {}).get("rmse"), release.mechanism.expected_error()
    near = max(1e-9, 5 * error.precision)
    if not isinstance(rmse, int | float) or not math.isclose(rmse, error.rmse, rel_tol=near):
        found.append("The stated error is not that of the noise scales.")
    return found


def _fraction(text: object) -> Fraction | None:
    try:
        return exact(text, "a number", error=SpecError)
    except SpecError:
        return None


def _read_query(written: dict[str, Any]) -> Query:
    kinds = {kind.keyword: kind for kind in spec.QUERIES}
    (keyword,) = [key for key in written if key in kinds]
    return kinds[keyword].from_file(written)


def _witness(plan: Plan) -> Any:
    witness = plan.certificate.sensitivity.witness
    if witness is None:
        return None
    return [None if end is None else {name: str(value) for name, value in end.items()} for end in witness]
