"""The policy file: one YAML file says everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal
from unicodedata import normalize

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, Integer
from blowfish_privacy.errors import BlowfishError, SpecError, brief, nearest
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.known_facts.facts.known_fact import read_fact
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.exact import positive
from blowfish_privacy.support.limits import FILE_CHARACTERS, RELEASES

ATTRIBUTES: dict[str, type[Attribute]] = {kind.keyword: kind for kind in (Integer, Categorical, Binned)}


# A part of the file that its own class reads; its schema is filled in by `schema`.
Part = Annotated[Any, PlainValidator(lambda value: value), WithJsonSchema({})]

_STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True, strict=True)


class PolicySection(BaseModel):
    """What is secret and what is public."""

    model_config = _STRICT
    domain: Part
    secrets: Part
    known: Part = Field(default_factory=list)
    compensation: Literal["anywhere", "secret-moves"] = "anywhere"
    size: Literal["known", "unknown"] | int = "known"
    rows_per_person: int = Field(default=1, ge=1)


class FileSection(BaseModel):
    """A policy file of blowfish-privacy."""

    model_config = _STRICT
    version: Literal[1]
    data: str | None = None
    ledger: str | None = None
    budget: Part = None
    policy: PolicySection
    releases: Part = Field(default_factory=list)


@dataclass(frozen=True)
class PlannedRelease:
    """One entry of the file's releases: a query, and either what it may spend or how wrong it may be."""

    name: str
    query: Query
    epsilon: Fraction | None
    error: Fraction | None
    mechanism: str | None


@dataclass(frozen=True)
class PolicyFile:
    """A policy file, read and checked."""

    policy: Policy
    data: str | None = None
    ledger: str | None = None
    budget: Fraction | None = None
    releases: tuple[PlannedRelease, ...] = ()


def load(path: str | Path) -> PolicyFile:
    """Read a policy file, or say what is wrong with it and where."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            # No more than what shows that it is too much: a device has no size, and no end.
            text = file.read(FILE_CHARACTERS + 1)
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}."
    except UnicodeDecodeError:
        problem = f"{path} is not UTF-8 text."
    except (ValueError, TypeError):
        problem = "the path of the policy file is not valid."
    else:
        return loads(text)
    raise SpecError(problem)


def loads(text: str) -> PolicyFile:
    """Read the text of a policy file."""
    body = yaml_text.parse(text)
    if not isinstance(body, dict):
        raise SpecError("a policy file is a mapping.", hint="it begins with version: 1 and has a policy: section.")
    section = _validated(FileSection, body)
    for place, named in (("data", section.data), ("ledger", section.ledger)):
        if named is not None and "\0" in named:
            raise SpecError(f"{place} must not hold the character NUL.")
    policy = policy_from_section(section.policy)
    budget = None if section.budget is None else positive(section.budget, "budget", error=SpecError)
    if not isinstance(section.releases, list):
        raise SpecError("releases: a list is needed.", hint="- {name: ages, histogram: [age], epsilon: 0.1}")
    if len(section.releases) > RELEASES:
        raise SpecError(f"a file has at most {RELEASES:,} releases, got {len(section.releases):,}.")
    releases = [_at(f"releases[{i}]", _read_release, entry, policy) for i, entry in enumerate(section.releases)]
    _check_names([planned.name for planned in releases])
    return PolicyFile(policy, section.data, section.ledger, budget, tuple(releases))


def policy_from_section(section: PolicySection) -> Policy:
    """Build the policy that a file describes; every error says where in the file it was found."""
    domain = _at("policy.domain", _read_domain, section.domain)
    secrets = _at("policy.secrets", Secrets.read, section.secrets, domain)
    if not isinstance(section.known, list):
        raise SpecError("policy.known: a list of facts is needed.")
    known = [_at(f"policy.known[{place}]", read_fact, fact, domain) for place, fact in enumerate(section.known)]
    options = {name: getattr(section, name) for name in ("compensation", "size", "rows_per_person")}
    return _at("policy", Policy, domain, secrets=secrets, known=known, **options)


def policy_to_section(policy: Policy) -> dict[str, Any]:
    """Write a policy as the policy section of a file."""
    section: dict[str, Any] = {
        "domain": {name: policy.domain[name].to_file() for name in policy.domain},
        "secrets": policy.secrets.to_file(),
    }
    if policy.known:
        section["known"] = [fact.to_file(policy.domain) for fact in policy.known]
    for name, default in (("compensation", "anywhere"), ("size", "known"), ("rows_per_person", 1)):
        if getattr(policy, name) != default:
            section[name] = getattr(policy, name)
    return section


def dumps(policy: Policy) -> str:
    """Write a policy as the text of a policy file."""
    return yaml_text.write({"version": 1, "policy": policy_to_section(policy)})


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file."""
    written = FileSection.model_json_schema()
    kinds = [Secrets.kinds[keyword] for keyword in sorted(Secrets.kinds)]
    written["$defs"]["PolicySection"]["properties"] |= {
        "domain": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"$ref": "#/$defs/Attribute"},
        },
        "secrets": {"$ref": "#/$defs/Secrets"},
        "known": {"type": "array", "items": {"$ref": "#/$defs/KnownFact"}},
    }
    written["properties"] |= {
        "budget": {"type": ["number", "string"]},
        "releases": {"type": "array", "items": {"type": "object"}},
    }
    written["$defs"] |= {
        "Attribute": {"oneOf": [_attribute_schema(keyword) for keyword in ATTRIBUTES]},
        "Secrets": {"oneOf": [kind.file_schema for kind in kinds]},
        "KnownFact": {"oneOf": [_MARGINAL_SCHEMA, _COUNT_SCHEMA]},
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **written}


_MARGINAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"marginal": {"type": ["array", "string"]}, "counts": {"type": ["array", "object"]}},
    "required": ["marginal"],
    "additionalProperties": False,
}
_COUNT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "object", "minProperties": 1}, "equals": {"type": "integer", "minimum": 0}},
    "required": ["count"],
    "additionalProperties": False,
}


def _attribute_schema(keyword: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {keyword: {"type": "array"}, "outside": {"enum": ["error", "clamp"]}, "missing": {}},
        "required": [keyword],
        "additionalProperties": False,
    }


def _at(place: str, build: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return build(*arguments, **options)
    except BlowfishError as error:
        raise error.within(place) from None


def _read_domain(body: Any) -> Domain:
    if not isinstance(body, Mapping):
        raise SpecError("a mapping of attributes is needed.", hint="write domain: {age: {integer: [17, 90]}}.")
    return Domain({name: _at(str(name), _read_attribute, declared) for name, declared in body.items()})


def _read_attribute(declared: Any) -> Attribute:
    if not isinstance(declared, Mapping):
        raise SpecError(
            f"{brief(declared)} is not an attribute.", hint="write {integer: [17, 90]} or {categorical: [a, b]}."
        )
    chosen = [keyword for keyword in ATTRIBUTES if keyword in declared]
    if len(chosen) != 1:
        stray = next((str(key) for key in declared if key not in ("outside", "missing")), "")
        raise SpecError("an attribute is either integer, categorical or binned.", hint=nearest(stray, ATTRIBUTES))
    return ATTRIBUTES[chosen[0]].from_file(declared)


_RELEASE_KEYS = ("name", "epsilon", "error", "mechanism")
_LONGEST_NAME = 200
_NAME = re.compile(r"[\w][\w .-]{0,99}")


def _read_release(entry: Any, policy: Policy) -> PlannedRelease:
    if not isinstance(entry, Mapping):
        raise SpecError("a mapping is needed.", hint="{name: ages, histogram: [age], epsilon: 0.1}")
    kinds = Query.kinds
    chosen = [str(key) for key in entry if key in kinds]
    if len(chosen) != 1:
        stray = next((str(key) for key in entry if key not in _RELEASE_KEYS), "")
        raise SpecError("a release has exactly one query.", hint=nearest(stray, kinds))
    kind = kinds[chosen[0]]
    allowed = [*_RELEASE_KEYS, kind.keyword, *kind.options]
    for key in entry:
        if key not in allowed:
            raise SpecError(f"unknown key {brief(key)}.", hint=nearest(str(key), allowed))
    name, mechanism = entry.get("name"), entry.get("mechanism")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name.encode()) > _LONGEST_NAME:
        # The name becomes a file name.
        said = "must begin with a letter, digit or underscore and go on with these, spaces, dots and dashes"
        raise SpecError(f"the name {brief(name)} {said}.", hint="it becomes a file name: at most 100 characters.")
    if mechanism is not None and not isinstance(mechanism, str):
        raise SpecError(f"mechanism must be a name, got {mechanism!r}.")
    if ("epsilon" in entry) == ("error" in entry):
        raise SpecError("a release states either epsilon or error.", hint="epsilon: 0.1, or error: 25 to solve for it.")
    query = kind.from_file(entry)
    query.on(policy.domain)
    spend = {key: positive(entry[key], key, error=SpecError) if key in entry else None for key in ("epsilon", "error")}
    return PlannedRelease(name, query, spend["epsilon"], spend["error"], mechanism)


def _check_names(names: list[str]) -> None:
    """Refuse names that are equal, or that many file systems take for equal: in another case, or otherwise coded."""
    seen: dict[str, str] = {}
    for name in names:
        folded = normalize("NFKC", name).casefold()
        if folded in seen:
            same = f"{seen[folded]!r} and {name!r} would be the same file on many computers"
            raise SpecError(
                f"releases: {'two releases have the same name' if seen[folded] == name else same}.",
                hint="give them names that differ in more than upper and lower case.",
            )
        seen[folded] = name


def _validated(model: type[FileSection], body: dict[Any, Any]) -> FileSection:
    if type(body.get("version", 1)) is not int:
        raise SpecError("version must be 1.")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    # A misspelt key is both unknown and missing under its right name: the first says more.
    first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    path = [str(part) for part in first["loc"]]
    place = ".".join(path)
    if first["type"] in ("extra_forbidden", "invalid_key"):
        fields = PolicySection.model_fields if path[0] == "policy" else FileSection.model_fields
        raise SpecError(f"unknown key {place!r}.", hint=nearest(path[-1], fields))
    if first["type"] == "missing":
        raise SpecError(f"{place} is missing.", hint="see the examples folder for a file that works.")
    wanted = _WANTED.get(path[1] if path[0] == "policy" and len(path) > 1 else path[0], "another value")
    raise SpecError(f"{'.'.join(path[:2])} must be {wanted}.")


_WANTED = {
    "version": "1",
    "data": "text",
    "ledger": "text",
    "policy": "a mapping with domain and secrets",
    "compensation": "'anywhere' or 'secret-moves'",
    "size": "'known', 'unknown' or a whole number of records",
    "rows_per_person": "a whole number from 1 up",
}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))  # noqa: T201
