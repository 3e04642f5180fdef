"""The form of a part of a policy file: stated by the class that reads the part, checked by pydantic.

A form is a type as pydantic knows them, or one of the classes below, which add what a file needs: words for whoever
wrote something else, and unions told apart by the keyword that is there. Pydantic itself is loaded when a file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.errors import SpecError, brief, nearest

_TAG = "\0"
"""Begins the name of a choice of a union, to tell it from a key where pydantic says the place of an error."""
_OWN = "form"
"""The type of errors that are in our own words."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """Says what a value must be, where it is something else: pydantic's own words are never shown."""

    words: str
    hint: str | None = None

    def check(self, value: Any, inner: Callable[[Any], Any]) -> Any:
        """Check a value, whatever is wrong inside it."""
        from pydantic_core import ValidationError

        try:
            return inner(value)
        except ValidationError:
            pass
        raise wrong(f"must be {self.words}, got {_got(value)}.", self.hint)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Wrap the check around the type."""
        from pydantic_core import core_schema

        return core_schema.no_info_wrap_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Describe the value to whoever points at it in an editor."""
        return {**handler(schema), "description": f"{self.words[0].upper()}{self.words[1:]}."}


@dataclass(frozen=True, eq=False)
class Published:
    """Says how the JSON Schema writes a type, where pydantic would say less, or the same at length."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Replace what pydantic would write."""
        return dict(self.schema)


@dataclass(frozen=True, eq=False)
class Form:
    """A mapping with these keys, each with its own form."""

    required: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict[str, Any])
    example: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are possible."""
        return (*self.required, *self.optional)

    def check(self, body: Any) -> Any:
        """Refuse what is no mapping, and keys that are unknown or missing: here the right key can be suggested."""
        if not isinstance(body, dict):
            raise wrong(f"must be a mapping, got {_got(body)}.", self._hint)
        for key in body:
            if key not in self.keys:
                raise wrong(f"unknown key {brief(key)}.", nearest(str(key), self.keys))
        for key in self.required:
            if key not in body:
                raise wrong(f".{key} is missing.", self._hint)
        return body

    @property
    def _hint(self) -> str:
        return f"write {self.example}." if self.example else "see the examples folder for a file that works."

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the typed dictionary, with the check of its keys in front."""
        from pydantic_core import core_schema

        fields = {
            key: core_schema.typed_dict_field(handler.generate_schema(form), required=key in self.required)
            for key, form in {**self.required, **self.optional}.items()
        }
        built = core_schema.typed_dict_schema(fields, extra_behavior="forbid")
        return core_schema.no_info_before_validator_function(self.check, built)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Add what the keys alone do not say."""
        return {**handler(schema), **self.schema}


@dataclass(frozen=True, eq=False)
class Several:
    """A list, or a mapping from names, of parts that all have one form."""

    holder: type[list[Any]] | type[dict[str, Any]]
    form: Any
    noun: str
    example: str
    least: int = 0
    most: int | None = None

    def check(self, body: Any) -> Any:
        """Refuse another holder, and too few parts or too many."""
        if not isinstance(body, self.holder):
            many = "a list of" if self.holder is list else "a mapping with"
            raise wrong(f"must be {many} {self.noun}, got {_got(body)}.", f"write {self.example}.")
        if len(body) < self.least:
            raise wrong("must not be empty.", f"write {self.example}.")
        for name in body if isinstance(body, dict) else ():
            if not isinstance(name, str):
                raise wrong(f"the name of an attribute must be text, got {brief(name)}.", "put quotes around it.")
        if self.most is not None and len(body) > self.most:
            raise wrong(f"must have at most {self.most:,} {self.noun}, got {len(body):,}.")
        return body

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the list or the dictionary, with the check of its length in front."""
        from pydantic_core import core_schema

        part = handler.generate_schema(self.form)
        built = (
            core_schema.list_schema(part, min_length=self.least, max_length=self.most)
            if self.holder is list
            else core_schema.dict_schema(core_schema.any_schema(), part, min_length=self.least, max_length=self.most)
        )
        return core_schema.no_info_before_validator_function(self.check, built)


@dataclass(frozen=True, eq=False)
class Bare:
    """A keyword that stands alone: ``full``."""

    keyword: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept nothing but the keyword."""
        from pydantic_core import core_schema

        said = {"message": f"{self.keyword} takes no options.", "hint": f"write: {self.keyword}"}
        literal = core_schema.literal_schema([self.keyword])
        return core_schema.custom_error_schema(
            literal, _OWN, custom_error_message="{message}", custom_error_context=said
        )


@dataclass(frozen=True, eq=False)
class Anything:
    """A keyword that stands alone, or any mapping that has it: what a class reads that states no form."""

    keyword: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Leave the check to the class."""
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Ask for the keyword only."""
        return {"anyOf": [{"const": self.keyword}, {"type": "object", "required": [self.keyword]}]}


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of the kinds that a registry knows when a file is read, told apart by the keyword that is there."""

    name: str
    kinds: Mapping[str, Any]
    """The registry: classes by their keyword, each with a ``file_form``."""
    noun: str
    example: str
    has: str = "kind"
    """What there is exactly one of."""
    shared: tuple[str, ...] = ()
    """Keys that every kind has, so that they name none."""
    form: Callable[[Any], Any] = attrgetter("file_form")

    def check(self, body: Any) -> Any:
        """Refuse what names no kind, or several."""
        if not isinstance(body, str | dict):
            raise wrong(f"must be {self.noun}, got {_got(body)}.", f"write {self.example}.")
        chosen = self._chosen(body)
        if not chosen:
            strange = [body] if isinstance(body, str) else [str(key) for key in body if key not in self.shared]
            raise wrong(f"{self.noun} has one {self.has}, got {_listed(strange)}.", _closest(strange, self.kinds))
        if len(chosen) > 1:
            raise wrong(f"{self.noun} has one {self.has}, got {_listed(chosen)}.", "keep one of them.")
        form = self.form(self.kinds[chosen[0]])
        return form.check(body) if isinstance(body, str) and isinstance(form, Form) else body

    def _chosen(self, body: str | dict[Any, Any]) -> list[str]:
        return [name for name in ([body] if isinstance(body, str) else body) if name in self.kinds]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the tagged union of the kinds known now; inside one of them it refers to itself."""
        from pydantic_core import core_schema

        if self.name in _building:
            return core_schema.definition_reference_schema(self.name)
        _building.add(self.name)
        try:
            choices = {
                f"{_TAG}{keyword}": handler.generate_schema(self.form(self.kinds[keyword]))
                for keyword in sorted(self.kinds)
            }
        finally:
            _building.discard(self.name)
        union = core_schema.tagged_union_schema(choices, lambda body: f"{_TAG}{self._chosen(body)[0]}")
        return core_schema.no_info_before_validator_function(self.check, union, ref=self.name)


_building: set[str] = set()


def wrong(message: str, hint: str | None = None) -> Exception:
    """Say in our own words what is wrong with a part of a file.

    The message goes on from the place: ``must be ..``, ``.key is missing``, or else a sentence after a colon.
    """
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(_OWN, "{message}", {"message": message, "hint": hint or ""})


def _got(value: object) -> str:
    return "nothing" if value is None else brief(value)


def _listed(names: Sequence[str]) -> str:
    shown = [brief(name) for name in names[:3]]
    return f"{' and '.join(shown)}{' and more' if len(names) > 3 else ''}" if shown else "none"


def _closest(names: Sequence[str], kinds: Iterable[str]) -> str:
    """Suggest a keyword for one of several strange names: the first is not always the misspelt one."""
    hints = [nearest(name, kinds) for name in names[:10]] or [nearest("", kinds)]
    return next((hint for hint in hints if hint.startswith("did you mean")), hints[0])


def checked(reader: Any, body: Any, place: str = "") -> Any:
    """Check a part of a file with a pydantic ``TypeAdapter``, or say what is wrong with it and where."""
    from pydantic import ValidationError

    try:
        return reader.validate_python(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    path = [part for part in first["loc"] if not str(part).startswith(_TAG)]
    where = place + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    said = first.get("ctx", {}) if first["type"] == _OWN else {"message": "must have another form.", "hint": ""}
    message = said["message"]
    if message.startswith("must "):
        message = f"{where or 'the file'} {message}"
    elif where or message.startswith("."):
        message = f"{where}{'' if message.startswith('.') else ': '}{message}"
    raise SpecError(message.removeprefix("."), hint=said["hint"] or None)


def register(kinds: dict[str, Any], kind: Any, unstated: Callable[[str], Any] = lambda word: Form({word: Any})) -> None:
    """Enter a class under its keyword, if it has one, with a form of which little is asked where it states none."""
    if "keyword" in vars(kind):
        kinds[kind.keyword] = kind
        if "file_form" not in vars(kind):
            kind.file_form = unstated(kind.keyword)


def kind_of(kinds: Mapping[str, Any], body: Any) -> Any:
    """Return the class that reads a part of a file, once the part is checked."""
    return next(kinds[name] for name in ([body] if isinstance(body, str) else body) if name in kinds)


def listed(items: Mapping[str, Any], *, least: int = 0, unique: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a list."""
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = rf"^\s*[-+]?({_DIGITS}\s*/\s*{_DIGITS}|({_DIGITS}\.?|({_DIGITS})?\.{_DIGITS})([eE][-+]?{_DIGITS})?)\s*$"

EXACT_SCHEMA = {"type": ["number", "string"], "pattern": _NUMBER}
Exact: TypeAlias = Annotated[int | Decimal | float | str, Published(EXACT_SCHEMA)]
"""A number that is read exactly: 5, 0.5, "1/3"."""
Above0: TypeAlias = Annotated[int | Decimal | float | str, Published({**EXACT_SCHEMA, "exclusiveMinimum": 0})]
Positive: TypeAlias = Annotated[Above0, Wanted("a number above 0")]
Value: TypeAlias = Annotated[int | Decimal | float | str | bool, Published({"type": ["number", "string", "boolean"]})]
"""A value of an attribute."""
Name: TypeAlias = Annotated[str, Wanted("the name of an attribute")]
Names: TypeAlias = Annotated[
    Annotated[list[str], Len(1), Published(listed({"type": "string"}, least=1, unique=True))] | str,
    Wanted("the name of an attribute, or a list of names"),
]
