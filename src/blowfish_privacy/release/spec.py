"""The policy file: policy, data, ledger, budget and releases in one YAML file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from operator import getitem
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias
from unicodedata import normalize

from annotated_types import Interval

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.domain.numbers import DATES, DECIMALS
from blowfish_privacy.errors import BlowfishError, SpecError, brief, nearest
from blowfish_privacy.graphs.graph import SECRETS_FORM, Secrets
from blowfish_privacy.known_facts.facts import FACT_FORM, Fact
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import Budget, Measure
from blowfish_privacy.queries import Asked, Query
from blowfish_privacy.queries.query import SELECTION_FORM, WEIGHABLE, check_asked, read_asked, split
from blowfish_privacy.release.target import Noise, Target
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.file_forms import (
    EXACT_SCHEMA,
    OUR_ERROR,
    TAG,
    Above0,
    Checked,
    Form,
    InSchema,
    OneOf,
    Positive,
    Several,
    Wanted,
    wrong,
)
from blowfish_privacy.support.limits import ATTRIBUTES, FILE_CHARACTERS, RECORDS, RELEASES
from blowfish_privacy.support.postgresql import NamedByFile, is_address
from blowfish_privacy.support.text import read_text

# Pydantic is loaded with the first file: declaring a policy needs none.
if TYPE_CHECKING:
    from pydantic import TypeAdapter


# Places in a policy file: the line, and the name that a user gave to the part that is wrong.

Path: TypeAlias = tuple[str | int, ...]
"""The keys and numbers that lead to a value of a file."""

_LISTS: Mapping[Path, str] = {("releases",): "release", ("policy", "known"): "known fact"}
"""Lists whose parts are called by their name, or by their number in words."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def dotted(path: Path) -> str:
    """Write a path: ``policy.domain.age``, ``rows[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def part_of(path: Path, body: Any) -> tuple[str, Path]:
    """Name the release or the known fact that a path lies in, if any, and return the rest of the path."""
    for holder, noun in _LISTS.items():
        number, *rest = path[len(holder) :] or ("",)
        if path[: len(holder)] != holder or not isinstance(number, int):
            continue
        try:
            name: Any = reduce(getitem, (*holder, number, "name"), body)
        except (KeyError, IndexError, TypeError):
            name = None
        if isinstance(name, str) and name.strip():
            return f"{noun} {brief(name)}", tuple(rest)
        known = number < len(_ORDINALS)
        return f"the {_ORDINALS[number]} {noun}" if known else f"{noun} number {number + 1}", tuple(rest)
    return "", path


def at_line(line: int | None) -> str:
    """Write a line, for the beginning of a message; nothing where there is none."""
    return "" if line is None else f"line {line}: "


def release_words(name: str) -> str:
    """Name a release in a sentence."""
    return f"release {brief(name)}"


@dataclass(frozen=True)
class Locator:
    """Builds parts of a file, and puts the line and the path of a part in front of its errors."""

    line: Callable[[Path], int | None] = lambda path: None
    body: Any = None

    @classmethod
    def of_text(cls, text: str, body: Any) -> Self:
        """Find lines in a text, in which the body of a file is written."""
        return cls(lambda path: yaml_text.line_of(text, path) if path else None, body)

    def __call__(self, path: Path, build: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Build a part, and say in its errors where it stands."""
        try:
            return build(*arguments, **options)
        except BlowfishError as error:
            raise self.located(path, error) from None

    def located(self, path: Path, error: BlowfishError) -> BlowfishError:
        """Say in an error of a part where it stands."""
        line, (part, rest) = self.line(path), part_of(path, self.body)
        return error.within(at_line(line) + ": ".join(filter(None, (part, dotted(rest)))), line)


ANYWHERE = Locator()
"""Names no line: what is read is not the text of a file."""


# Words that other programs use for queries and kinds of attributes, with what to write here.

_QUANTILES = "write quantiles: {name}, at: [0.25, 0.5, 0.75], or median: {name}."
_COUNTS = "write histogram: [{names}], which counts the records of each value."
_TABLE = "write histogram: [{names}] for one table, tables: [[{names}]] for several that agree."
_EXTREME = "the smallest and the largest value are those of one person; write quantiles: {name}, at: [0.05, 0.95]."


QUERY_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("quantile", "percentile", "percentiles", "quartile", "quartiles", "deciles"), _QUANTILES),
    **dict.fromkeys(("average", "avg", "averages"), "write mean: {name}."),
    **dict.fromkeys(("count", "counts", "frequency", "frequencies", "value_counts", "proportion", "share"), _COUNTS),
    **dict.fromkeys(("total", "totals"), "write sum: {name}; to count records, histogram: [{name}]."),
    **dict.fromkeys(("crosstab", "crosstable", "table", "pivot", "contingency", "marginal", "marginals"), _TABLE),
    **dict.fromkeys(
        ("groupby", "group_by", "by_group"), "say what is asked, and add by: [{name}], as in mean: age, by: [{name}]."
    ),
    **dict.fromkeys(("cdf", "distribution", "density", "ecdf"), "write cumulative: {name}."),
    **dict.fromkeys(("clusters", "clustering", "cluster"), "write kmeans: [{names}], k: 4."),
    **dict.fromkeys(("min", "max", "minimum", "maximum"), _EXTREME),
    **dict.fromkeys(
        ("variance", "var", "std", "stddev", "sd"), "for the spread, write quantiles: {name}, at: [0.25, 0.75]."
    ),
}
"""What to write in place of a query that has another name here."""

_DATE = f"dates are declared like {DATES}; the step may be day, week or month.".replace("{", "{{").replace("}", "}}")
_DECIMAL = f"declare {DECIMALS}, or bins: {{binned: [0, 10, 20]}}.".replace("{", "{{").replace("}", "}}")

ATTRIBUTE_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("date", "dates", "datetime", "timestamp", "time", "day", "month", "year"), _DATE),
    **dict.fromkeys(("decimal", "float", "double", "real", "continuous"), _DECIMAL),
    **dict.fromkeys(
        ("number", "numeric", "range", "whole"), "write {{integer: [17, 90]}} for whole numbers. " + _DECIMAL
    ),
    **dict.fromkeys(("text", "string", "str", "enum", "values", "factor"), "write {{categorical: [Female, Male]}}."),
    **dict.fromkeys(("bool", "boolean"), "write {{categorical: [true, false]}}."),
}
"""What to write in place of a kind of attribute that has another name here."""


# An entry under ``releases`` in a policy file.

_LONGEST_NAME = 200
_NAME = re.compile(r"[\w][\w .-]{0,99}")


@dataclass(frozen=True)
class PlannedRelease:
    """One entry of the file's releases: a query, and either what it may spend or how wrong it may be."""

    name: str
    query: Asked
    target: Target
    mechanism: str | None


@dataclass(frozen=True)
class Unplanned:
    """A release of a file that cannot be read or planned, and why not."""

    name: str | None
    error: BlowfishError
    query: Asked | None = None
    """What it asks, as far as that could be read."""


def read_release(entry: dict[str, Any], policy: Policy, ledger: Measure | None) -> PlannedRelease:
    """Read an entry whose form is checked; ``ledger`` is how the file's budget counts, if it states one."""
    name = entry["name"]
    if not is_file_name(name):
        # The name becomes a file name.
        said = "must begin with a letter, digit or underscore and go on with these, spaces, dots and dashes"
        raise SpecError(f"the name {brief(name)} {said}.", hint="it becomes a file name: at most 100 characters.")
    if sum(key in entry for key in ("epsilon", "rho", "error")) != 1:
        raise SpecError(
            "a release states one of epsilon, rho and error.",
            hint="epsilon: 0.1 or rho: 0.005 to spend, or error: 25 to solve for it.",
        )
    query = read_asked(entry, policy.domain)
    check_asked(*split(query), policy.domain)
    stated = {key: entry.get(key) for key in ("epsilon", "rho", "delta", "error", "noise")}
    target = Target.of(**stated, ledger=ledger, problem=SpecError)
    return PlannedRelease(name, query, target, entry.get("mechanism"))


def is_file_name(name: str) -> bool:
    """Say whether a file can be called like a release."""
    return _NAME.fullmatch(name) is not None and len(name.encode()) <= _LONGEST_NAME


# The form of a whole policy file: what pydantic checks, and what the published JSON Schema says.
#
# Attributes, secrets, known facts and queries are unions over the kinds that are defined when a file is read, in this
# package or elsewhere; each kind states its form.

_ATTRIBUTE = OneOf(
    "Attribute",
    Attribute.kinds,
    "an attribute",
    "{integer: [17, 90]}",
    shared=("outside", "missing"),
    advice=ATTRIBUTE_ADVICE,
)
_DOMAIN = Several(dict, _ATTRIBUTE, "attributes", "domain: {age: {integer: [17, 90]}}", least=1, most=ATTRIBUTES)

POLICY = Form(
    {"domain": _DOMAIN, "secrets": SECRETS_FORM},
    {
        "known": Several(list, FACT_FORM, "facts", "known: [{marginal: [sex]}]"),
        "compensation": Annotated[Literal["anywhere", "secret-moves"], Wanted("'anywhere' or 'secret-moves'")],
        "size": Annotated[
            Literal["known", "unknown"] | Annotated[int, Interval(ge=0, le=RECORDS)],
            Wanted("'known', 'unknown' or a whole number of records up to 2^53"),
        ],
        "rows_per_person": Annotated[int, Interval(ge=1, le=RECORDS), Wanted("a whole number from 1 to 2^53")],
    },
    example="policy: {domain: {age: {integer: [17, 90]}}, secrets: full}",
)


@dataclass(frozen=True, eq=False)
class _MechanismName(Checked):
    """The name of a mechanism that gives one kind of answer."""

    answer: str

    @property
    def names(self) -> list[str]:
        # Mechanisms are loaded when one is named.
        from blowfish_privacy.mechanisms import considered

        return sorted(kind.name for kind in considered(self.answer) if self.answer in kind.gives)

    def check(self, name: Any) -> Any:
        """Refuse mechanisms that do not exist, or that answer other queries."""
        if name is not None and name not in self.names:
            raise wrong(f"{brief(name)} is not a mechanism for this query.", nearest(str(name), self.names))
        return name

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        return core.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {"enum": [*self.names, None], "description": "A mechanism for this query."}


# As in Python, but only with syntax that all languages agree on: letters beyond ASCII are not distinguished.
_NAME_SCHEMA = {"type": "string", "pattern": r"^[^\x00-/:-@\[-^`{-\x7f][^\x00-\x1f!-,/:-@\[-^`{-\x7f]{0,99}$"}
_ELSEWHERE = {"weight": WEIGHABLE}
_SHARED = ("name", "epsilon", "rho", "delta", "error", "noise", "mechanism", *SELECTION_FORM)


def query_form(kind: type[Query]) -> Any:
    """Return the form of a query of one kind, with its condition and its groups."""
    form = kind.file_form
    if not isinstance(form, Form):
        return form
    return Form(form.required, {**form.optional, **SELECTION_FORM}, form.example, form.schema, elsewhere=_ELSEWHERE)


def release_form(kind: type[Query]) -> Any:
    """Return the form of a release that asks one kind of query."""
    form = query_form(kind)
    if not isinstance(form, Form):
        return form
    return replace(
        form,
        required={"name": Annotated[str, InSchema(_NAME_SCHEMA), Wanted("text")], **form.required},
        optional={
            **form.optional,
            "epsilon": Positive,
            "rho": Positive,
            "delta": Positive,
            "error": Positive,
            "noise": Annotated[Noise, Wanted("'laplace' or 'gaussian'")],
            "mechanism": _MechanismName(kind.answer),
        },
        example=f"{{name: .., {(form.example or '').strip('{}')}, epsilon: 0.1}}",
        schema={**form.schema, "oneOf": [{"required": [key]} for key in ("epsilon", "rho", "error")]},
    )


_RELEASE_EXAMPLE = "{name: ages, histogram: [age], epsilon: 0.1}"
_RELEASE = OneOf("Release", Query.kinds, "a release", _RELEASE_EXAMPLE, "query", _SHARED, release_form, QUERY_ADVICE)
_QUERY = OneOf("Query", Query.kinds, "a query", "{histogram: [age]}", "query", tuple(SELECTION_FORM), query_form)
_LOCATION = Annotated[
    str | None, InSchema({"type": ["string", "null"], "not": {"type": "string", "pattern": "\0"}}), Wanted("text")
]
_ABOVE_0 = {**EXACT_SCHEMA, "exclusiveMinimum": 0}
_BUDGET = Annotated[
    dict[str, Above0],
    InSchema(
        {
            "type": "object",
            "properties": {"rho": _ABOVE_0, "epsilon": _ABOVE_0, "delta": {**_ABOVE_0, "maximum": 0.01}},
            "additionalProperties": False,
            "oneOf": [
                {"required": ["rho"], "maxProperties": 1},
                {"required": ["epsilon", "delta"], "maxProperties": 2},
            ],
        }
    ),
]

_START = (
    "a policy file begins with version: 1, names the data and has a policy; blowfish demo writes one to start from."
)
_VERSION = "begin the file with the line version: 1; there is no other version yet."
FILE = Form(
    {"version": Annotated[int, Interval(ge=1, le=1), InSchema({"const": 1}), Wanted("1", _VERSION)], "policy": POLICY},
    {
        "data": _LOCATION,
        "ledger": _LOCATION,
        "budget": Annotated[
            Above0 | _BUDGET | None, Wanted("a number above 0", "write 1.0, {rho: 0.05} or {epsilon: 1, delta: 1e-9}.")
        ],
        "releases": Several(list, _RELEASE, "releases", f"releases: [{_RELEASE_EXAMPLE}]", most=RELEASES),
    },
    example="version: 1 and a policy: section",
    missing={"version": _VERSION},
)


def checked(form: Any, body: Any, at: Locator = ANYWHERE, prefix: Path = ()) -> Any:
    """Check a part of a file, or say what is wrong with it and where; ``prefix`` is the path to the part."""
    from pydantic import ValidationError

    try:
        return _reader(form, _known_kinds()).validate_python(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    path = (*prefix, *(part for part in first["loc"] if not str(part).startswith(TAG)))
    part, rest = part_of(path, body if at.body is None else at.body)
    where = dotted(rest)
    said = (
        first.get("ctx", {}) if first["type"] == OUR_ERROR else {"message": "must have a different form.", "hint": ""}
    )
    message = said["message"]
    if message.startswith("must "):
        message = f"{where or ('' if part else 'the file')} {message}".lstrip()
    elif where or message.startswith("."):
        message = f"{where}{'' if message.startswith('.') else ': '}{message}".removeprefix(".")
    # "release 'ages' must be a mapping", but "release 'ages': epsilon must be a number".
    between = " " if not where and message.startswith("must ") else ": "
    message = f"{part}{between}{message}" if part else message
    found = at.line(path if said.get("key") is None else (*path, said["key"]))
    raise SpecError(at_line(found) + message, hint=said["hint"] or None, line=found)


def check_file(body: Any, at: Locator = ANYWHERE) -> dict[str, Any]:
    """Check the form of a whole file, or say what is wrong and where."""
    if body is None:
        raise SpecError("the file is empty.", hint=_START)
    if not isinstance(body, dict):
        # What it holds is not quoted: somebody may have given the table in place of the file that names it.
        raise SpecError("the file is not a policy file: it does not consist of lines like version: 1.", hint=_START)
    return checked(FILE, body, at)


def check_query(body: Any) -> dict[str, Any]:
    """Check the form of a query, as a document holds it."""
    return checked(_QUERY, body, prefix=("query",))


def _known_kinds() -> tuple[type, ...]:
    registries = (Attribute.kinds, Secrets.kinds, Fact.kinds, Query.kinds)
    return tuple(kind for registry in registries for kind in registry.values())


@lru_cache(maxsize=6)
def _reader(form: Any, _kinds: tuple[type, ...]) -> TypeAdapter[Any]:
    """Build what checks a form, anew only when another kind was defined."""
    from pydantic import TypeAdapter

    return TypeAdapter(form)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file."""
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """Leaves out titles, which only repeat the keys."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    written = _reader(FILE, _known_kinds()).json_schema(schema_generator=Untitled)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A policy file of blowfish-privacy",
        **written,
    }


# The form of a policy file, some of whose releases may be wrong by themselves.


def checked_in_part(whole: Any, at: Locator) -> tuple[dict[str, Any], dict[int, Unplanned]]:
    """Check the form of a file, apart from releases that are wrong by themselves."""
    try:
        return check_file(whole, at), {}
    except SpecError as error:
        listed: Any = whole.get("releases") if isinstance(whole, dict) else None
        if not isinstance(listed, list) or not listed:
            raise
        # Raises what is wrong elsewhere in the file.
        body, problem = check_file({**whole, "releases": []}, at), error
    releases: list[Any] = []
    wrong: dict[int, Unplanned] = {}
    for number, entry in enumerate(listed[:RELEASES]):
        try:
            releases.append(checked(_RELEASE, entry, at, ("releases", number)))
        except SpecError as error:
            name = entry.get("name") if isinstance(entry, dict) else None
            wrong[number] = Unplanned(name if isinstance(name, str) else None, error)
            releases.append(None)
    if not wrong or len(listed) > RELEASES:
        raise problem
    return {**body, "releases": releases}, wrong


@dataclass(frozen=True)
class PolicyFile:
    """A policy file, read and checked."""

    policy: Policy
    data: str | None = None
    ledger: str | None = None
    budget: Budget | None = None
    releases: tuple[PlannedRelease, ...] = ()
    wrong: Mapping[int, Unplanned] = field(default_factory=dict[int, Unplanned])
    """Releases that cannot be read, in the order of their places; none unless :func:`load_in_part` read the file."""

    def only(self, names: Collection[str]) -> PolicyFile:
        """Return the file with these releases alone, or say why one of them cannot be read."""
        wrong = {each.name: each.error for each in self.wrong.values()}
        known = [release.name for release in self.releases]
        for name in names:
            if name in wrong:
                raise wrong[name]
            if name not in known:
                raise SpecError(f"the file has no release {brief(name)}.", hint=nearest(name, known))
        return replace(self, releases=tuple(each for each in self.releases if each.name in names), wrong={})


def load(path: str | FilePath) -> PolicyFile:
    """Read a policy file, or say what is wrong with it and where."""
    return _without_wrong_releases(load_in_part(path))


def load_in_part(path: str | FilePath) -> PolicyFile:
    """Read a policy file; one wrong release does not hide the others, and is kept in :attr:`PolicyFile.wrong`."""
    return _read(read_text(path, FILE_CHARACTERS), FilePath(path).parent)


def loads(text: str, folder: FilePath | None = None) -> PolicyFile:
    """Read the text of a policy file; only one that stands in a folder may refer to other files there."""
    return _without_wrong_releases(_read(text, folder))


def load_policy(text: str) -> Policy:
    """Read back a policy that a ledger stored."""
    return loads(text).policy


def ledger_location(file: PolicyFile, folder: FilePath) -> str | FilePath | None:
    """Find the ledger that a file names, if it names one: an address, or a path relative to ``folder``."""
    if file.ledger is None:
        return None
    return NamedByFile(file.ledger) if is_address(file.ledger) else folder / file.ledger


def _without_wrong_releases(file: PolicyFile) -> PolicyFile:
    if file.wrong:
        raise file.wrong[min(file.wrong)].error
    return file


def _read(text: str, folder: FilePath | None) -> PolicyFile:
    whole = yaml_text.parse(text)
    at = Locator.of_text(text, whole)
    body, wrong = checked_in_part(whole, at)
    for key in ("data", "ledger"):
        if "\0" in (body.get(key) or ""):
            raise SpecError(f"{key} must not hold the character NUL.", line=at.line((key,)))
    policy = _read_policy(body["policy"], at, folder)
    try:
        budget = None if body.get("budget") is None else Budget.read(body["budget"], "budget")
    except BlowfishError as error:
        error.line = at.line(("budget",))
        raise
    measure = None if budget is None else budget.measure
    releases: dict[int, PlannedRelease] = {}
    for number, entry in enumerate(body.get("releases", [])):
        if number in wrong:
            continue
        try:
            releases[number] = at(("releases", number), read_release, entry, policy, measure)
        except BlowfishError as error:
            wrong[number] = Unplanned(entry["name"], error)
    wrong |= _called_alike(releases, at)
    read = tuple(each for number, each in releases.items() if number not in wrong)
    return PolicyFile(policy, body.get("data"), body.get("ledger"), budget, read, dict(sorted(wrong.items())))


def _called_alike(releases: Mapping[int, PlannedRelease], at: Locator) -> dict[int, Unplanned]:
    """Say of each release where an earlier one has its name, or one that many file systems take for the same."""
    first: dict[str, int] = {}
    found: dict[int, Unplanned] = {}
    for number, each in releases.items():
        earlier = first.setdefault(normalize("NFKC", each.name).casefold(), number)
        if earlier != number:
            line, other = at.line(("releases", earlier)), releases[earlier].name
            above = "an earlier release" if line is None else f"the release of line {line}"
            same = f"it and {other!r}, {above}, would be the same file on many computers"
            error = SpecError(
                f"{f'{above} has the same name' if each.name == other else same}.",
                hint="give them names that differ in more than upper and lower case.",
            )
            found[number] = Unplanned(each.name, at.located(("releases", number), error), each.query)
    return found


def policy_from_section(section: Any) -> Policy:
    """Build the policy that a document describes; errors begin with the path of the part."""
    return _read_policy(checked(POLICY, section, prefix=("policy",)), ANYWHERE)


def _read_policy(section: dict[str, Any], at: Locator, folder: FilePath | None = None) -> Policy:
    declared = section["domain"].items()
    attributes = {name: at(("policy", "domain", name), Attribute.read, body, folder) for name, body in declared}
    domain = at(("policy", "domain"), Domain, attributes)
    secrets = at(("policy", "secrets"), Secrets.read, section["secrets"], domain)
    facts = enumerate(section.get("known", []))
    known = [at(("policy", "known", number), Fact.read, fact, domain) for number, fact in facts]
    options = {name: section[name] for name in ("compensation", "size", "rows_per_person") if name in section}
    return at(("policy",), Policy, domain, secrets=secrets, known=known, **options)


def policy_to_section(policy: Policy) -> dict[str, Any]:
    """Write a policy as the policy section of a file."""
    return deepcopy(policy.section)


def dumps(policy: Policy) -> str:
    """Write a policy as the text of a policy file."""
    return yaml_text.write({"version": 1, "policy": policy_to_section(policy)})


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))  # noqa: T201
