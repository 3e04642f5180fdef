"""The form of a whole policy file: what pydantic checks, and what the published JSON Schema says.

Attributes, secrets, known facts and queries are unions over the kinds that are defined when a file is read, in this
package or elsewhere; each kind states its form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Interval

from blowfish_privacy.domain import Attribute
from blowfish_privacy.errors import SpecError, brief, nearest
from blowfish_privacy.graphs.graph import SECRETS_FORM, Secrets
from blowfish_privacy.known_facts.facts import FACT_FORM, Fact
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import SELECTION_FORM, WEIGHABLE
from blowfish_privacy.release.file_places import Path, at_line, dotted, no_line, part_of
from blowfish_privacy.release.other_words import ATTRIBUTE_ADVICE, QUERY_ADVICE
from blowfish_privacy.release.spending import Noise
from blowfish_privacy.support.file_forms import (
    EXACT_SCHEMA,
    OUR_ERROR,
    TAG,
    Above0,
    Form,
    OneOf,
    Positive,
    Published,
    Several,
    Wanted,
    wrong,
)
from blowfish_privacy.support.limits import ATTRIBUTES, RECORDS, RELEASES

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
class _MechanismName:
    """The name of a mechanism that gives one kind of answer; the mechanisms are loaded when one is named."""

    answer: str

    @property
    def names(self) -> list[str]:
        from blowfish_privacy.mechanisms import considered

        return sorted(kind.name for kind in considered(self.answer) if self.answer in kind.gives)

    def check(self, name: Any) -> Any:
        """Refuse mechanisms that do not exist, or that answer other queries."""
        if name is not None and name not in self.names:
            raise wrong(f"{brief(name)} is not a mechanism for this query.", nearest(str(name), self.names))
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Check by the registry, when there is a name."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """List the names."""
        return {"enum": [*self.names, None], "description": "A mechanism for this query."}


# As in Python, but only with syntax that all languages agree on: letters beyond ASCII are not told apart.
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
    if not isinstance(kind.file_form, Form):
        return kind.file_form
    form = kind.file_form
    return Form(
        {"name": Annotated[str, Published(_NAME_SCHEMA), Wanted("text")], **form.required},
        {
            **form.optional,
            **SELECTION_FORM,
            "epsilon": Positive,
            "rho": Positive,
            "delta": Positive,
            "error": Positive,
            "noise": Annotated[Noise, Wanted("'laplace' or 'gaussian'")],
            "mechanism": _MechanismName(kind.answer),
        },
        example=f"{{name: .., {(form.example or '').strip('{}')}, epsilon: 0.1}}",
        schema={**form.schema, "oneOf": [{"required": [key]} for key in ("epsilon", "rho", "error")]},
        elsewhere=_ELSEWHERE,
    )


_RELEASE_EXAMPLE = "{name: ages, histogram: [age], epsilon: 0.1}"
_RELEASE = OneOf("Release", Query.kinds, "a release", _RELEASE_EXAMPLE, "query", _SHARED, release_form, QUERY_ADVICE)
_QUERY = OneOf("Query", Query.kinds, "a query", "{histogram: [age]}", "query", tuple(SELECTION_FORM), query_form)
_LOCATION = Annotated[
    str | None, Published({"type": ["string", "null"], "not": {"type": "string", "pattern": "\0"}}), Wanted("text")
]
_ABOVE_0 = {**EXACT_SCHEMA, "exclusiveMinimum": 0}
_BUDGET = Annotated[
    dict[str, Above0],
    Published(
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
    {"version": Annotated[int, Interval(ge=1, le=1), Published({"const": 1}), Wanted("1", _VERSION)], "policy": POLICY},
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


def checked(
    reader: Any, body: Any, line: Callable[[Path], int | None] = no_line, prefix: Path = (), whole: Any = None
) -> Any:
    """Check a part of a file with a pydantic ``TypeAdapter``, or say what is wrong with it and where.

    ``prefix`` is the path to a part, and ``whole`` the file that it is a part of.
    """
    from pydantic import ValidationError

    try:
        return reader.validate_python(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    path = (*prefix, *(part for part in first["loc"] if not str(part).startswith(TAG)))
    part, rest = part_of(path, whole if whole is not None else body)
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
    found = line(path if said.get("key") is None else (*path, said["key"]))
    raise SpecError(at_line(found) + message, hint=said["hint"] or None, line=found)


def check_file(body: Any, line: Callable[[Path], int | None] = no_line) -> dict[str, Any]:
    """Check the form of a whole file, or say what is wrong and where."""
    if body is None:
        raise SpecError("the file is empty.", hint=_START)
    if not isinstance(body, dict):
        # What it holds is not quoted: somebody may have given the table in place of the file that names it.
        raise SpecError("the file is not a policy file: it does not consist of lines like version: 1.", hint=_START)
    return checked(_reader(FILE, _known_kinds()), body, line)


def check_release(whole: Any, number: int, line: Callable[[Path], int | None] = no_line) -> dict[str, Any]:
    """Check the form of one of a file's releases, whatever the others are like."""
    reader = _reader(_RELEASE, _known_kinds())
    return checked(reader, whole["releases"][number], line, ("releases", number), whole)


def check_policy(body: Any) -> dict[str, Any]:
    """Check the form of a policy, as a document holds it."""
    return checked(_reader(POLICY, _known_kinds()), body, prefix=("policy",))


def check_query(body: Any) -> dict[str, Any]:
    """Check the form of a query, as a document holds it."""
    return checked(_reader(_QUERY, _known_kinds()), body, prefix=("query",))


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
