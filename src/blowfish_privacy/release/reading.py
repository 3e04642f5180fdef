"""Reading a release document back: every part is checked, and what it proves is derived anew."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Cell, Domain, quoted, worded
from blowfish_privacy.errors import BlowfishWarning, SpecError
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Certificate, Population, Populations
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.queries import Query, Selection
from blowfish_privacy.queries.query import read_asked, split
from blowfish_privacy.release import document, spec
from blowfish_privacy.release.document import FORMAT, PREDICTABLE, VERSION, KeptValues
from blowfish_privacy.release.groups import OF_A_PART, label
from blowfish_privacy.release.plan import Notice, Plan, of_groups, plan_notices
from blowfish_privacy.release.spec import check_query
from blowfish_privacy.support.text import read_object

DAMAGE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError, RecursionError)
"""What reading a document may raise where a part of it is missing or has the wrong form."""


@dataclass(frozen=True, eq=False)
class Release:
    """A release document, read back into objects."""

    name: str
    query: Query
    selection: Selection
    policy: Policy
    population: Population
    """The records it is about."""
    mechanism: Mechanism
    certificate: Certificate
    records: int | None
    noisy: npt.NDArray[np.int64]
    """The noisy answers, in units."""
    group: Mapping[str, Any]
    """For one group of a release, what its records have in common: values by attribute. Empty for a whole release."""
    body: dict[str, Any]
    folder: Path | None = None
    """Where its values are kept, if they are in a file of their own."""
    blocks: Totals | None = None
    """The exact counts of blocks that no secret pair leaves, where the document has them."""

    def __repr__(self) -> str:
        return f"<Release {self.name!r}: {self.certificate!r}>"

    @cached_property
    def constraints(self) -> Constraints | None:
        """All public totals of the query's cells; None where it has no cells or the number of records is secret."""
        return document.constraints(self.query, self.population, self.records, self.blocks)

    def plan(self) -> Plan:
        """Return the plan that it was made by."""
        return Plan(
            *(self.query, self.policy, self.mechanism, self.certificate, self.records, self.population, self.name),
            selection=self.selection,
        )


def parse(text: str) -> dict[str, Any]:
    """Read the text of a document."""
    body = read_object(text)
    if body is None or body.get("format") != FORMAT:
        raise SpecError("this is not a release document.", hint="give the .release.json file that a release wrote.")
    if type(body.get("version")) is not int or body["version"] != VERSION:
        raise SpecError(f"this document has a different version; this package reads version {VERSION}.")
    return body


def read(body: dict[str, Any], part: dict[str, Any] | None = None, folder: Path | None = None) -> Release:
    """Rebuild the release of a document, or of one part of it; the certificate is derived anew.

    Values that are in a file of their own are looked for in the folder.
    """
    with _refusing_damage():
        release = _without_values(body, part)
        stated, mechanism = release.body, release.mechanism
        kept = KeptValues.from_document(stated["values"]) if isinstance(stated["values"], dict) else None
        noisy = _whole_numbers(stated["values"]) if kept is None else kept.read(folder)
        if not mechanism.fits(noisy):
            raise SpecError("the document is damaged: the number of values does not match the query.")
        blocks = None
        if document.KEY in stated:
            governing, shown = release.population.policy, release.certificate.amount
            labels = document.published(release.query, governing, mechanism) if shown else None
            blocks = document.read(stated[document.KEY], labels, release.records)
        return replace(release, noisy=noisy, folder=folder if kept else None, blocks=blocks)


def read_proof(body: dict[str, Any], part: dict[str, Any] | None = None) -> Release:
    """Rebuild what a document proves, or one part of it, without its values."""
    with _refusing_damage():
        return _without_values(body, part)


@contextmanager
def _refusing_damage() -> Generator[None]:
    try:
        yield
    except DAMAGE:
        raise SpecError("the document is damaged: a part is missing or has the wrong form.") from None


def _without_values(body: dict[str, Any], part: dict[str, Any] | None) -> Release:
    stated = body if part is None else {**body, **{key: part[key] for key in part if key != "value"}}
    _check_form(stated)
    if part is not None and not all(isinstance(value, str | int) for value in part["value"]):
        raise SpecError("the document is damaged: the value of a group is neither text nor a whole number.")
    with warnings.catch_warnings():
        # Who published the document was warned; its card and its notices say it.
        warnings.simplefilter("ignore", BlowfishWarning)
        policy = spec.policy_from_section(stated["policy"])
    query, selection = split(read_asked(check_query(stated["query"]), policy.domain))
    group = dict(zip(selection.by, [] if part is None else part["value"], strict=part is not None))
    populations = Populations(policy, selection, divided=query.divided)
    population = populations[populations.public_part(cell_of(policy.domain, group))] if group else populations.whole
    kind = MECHANISMS[stated["mechanism"]["name"]]
    records = _checked_records(stated["records"], population.policy)
    mechanism = kind.from_document(query, population.policy, stated["mechanism"], records)
    certificate = population.certificate(mechanism.certify(population.policy))
    none = np.zeros(0, dtype=np.int64)
    return Release(
        *(stated["name"], query, selection, policy, population, mechanism, certificate, records, none, group, stated),
    )


def cell_of(domain: Domain, group: Mapping[str, Any]) -> Cell:
    """Find the positions of the values that the records of a group share, as :func:`.label` wrote them."""
    return tuple(_position(domain[name], str(value)) for name, value in group.items())


def _position(attribute: Attribute, written: str) -> int:
    return {str(label(attribute, position)): position for position in range(attribute.size)}[written]


def _check_form(stated: dict[str, Any]) -> None:
    """Check the kinds of what a document states, as a whole or of one group: results and pictures rely on them."""
    wrong = [key for key, kinds in document.FORM.items() if not isinstance(stated[key], kinds)]
    texts = [stated["guarantee"]["statement"], *stated["notices"], stated["error"]["of"]] if not wrong else []
    sizes = [stated["error"][key] for key in ("mse", "rmse", "within_95_in_100")] if not wrong else []
    if wrong or not all(isinstance(text, str) for text in texts):
        raise SpecError("the document is damaged: its name, statement or notices are not text, or other parts differ.")
    if not all(isinstance(size, float | int) and 0 <= size <= _LARGEST_ERROR for size in sizes):
        raise SpecError("the document is damaged: it states no error that noise can have.")


_LARGEST_ERROR = 2.0**400


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
    """Return the groups of a release, or None for the release itself."""
    if "groups" not in body:
        return [None]
    groups = body["groups"]
    parts = groups.get("parts") if isinstance(groups, dict) else None
    keys = {"value", *OF_A_PART}
    whole = isinstance(parts, list) and all(
        isinstance(part, dict) and set(part) - {document.KEY} == keys for part in parts
    )
    if not parts or not whole or not all(isinstance(part["value"], list) for part in parts):
        raise SpecError("the document is damaged: its groups have the wrong form.")
    with _refusing_damage():
        _check_form(body)
    return list(parts)


def notices_of(releases: Sequence[Release]) -> list[Notice]:
    """Return what must not be overlooked in a release or its groups, as their documents say too."""
    notices = of_groups((_group(each.group), plan_notices(each.plan())) for each in releases)
    if any(PREDICTABLE in each.body["notices"] for each in releases):
        notices.append(Notice(PREDICTABLE, PREDICTABLE))
    return sorted(notices, key=lambda notice: notice.as_planned)


def _group(values: Mapping[str, object]) -> str:
    return " and ".join(f"{quoted(name)} {worded(str(value))}" for name, value in values.items())
