"""The form of a part of a policy file: stated by the class that reads the part, checked by pydantic.

A form is a type as pydantic knows them, or one of the classes below, which add what a file needs: errors in words that
users know, and unions whose members are distinguished by a keyword. Pydantic itself is loaded when a file is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Any, TypeAlias

from annotated_types import Len

from blowfish_privacy.errors import SpecError, brief, nearest

TAG = "\0"
"""Begins the name of a choice of a union, to tell it from a key in the location that pydantic gives of an error."""
_ALSO_CALLED = {
    **dict.fromkeys(("groupby", "group_by", "group", "grouped", "per"), "by"),
    **dict.fromkeys(("filter", "condition", "subset", "if"), "where"),
    **dict.fromkeys(("label", "title", "id"), "name"),
}
"""What keys are called in other programs."""
OUR_ERROR = "form"
"""The type of errors in our words, not in those of pydantic."""
_MOST_QUOTED = 3


class Checked(ABC):
    """A form of our own, in terms of those of pydantic."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        # Declaring a domain needs no pydantic: it is loaded with the first file.
        from pydantic_core import core_schema

        return self.in_pydantic(core_schema, handler, source)

    @abstractmethod
    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        """Return what checks it, made of what ``core`` offers; ``handler`` makes what checks a part of it."""


@dataclass(frozen=True, eq=False)
class Wanted(Checked):
    """Says what a value must be, where it is something else: pydantic's words are never shown."""

    words: str
    hint: str | None = None

    def check(self, value: Any, inner: Callable[[Any], Any]) -> Any:
        """Check a value, and replace whatever error pydantic raises."""
        from pydantic_core import ValidationError

        try:
            return inner(value)
        except ValidationError as error:
            index = next((part for part in error.errors()[0]["loc"] if isinstance(part, int)), None)
        # A long list is cut short when it is shown, and the wrong item with it.
        shown = (
            got(value) if index is None or not isinstance(value, list) else f"{got(value[index])} as item {index + 1}"
        )
        raise wrong(f"must be {self.words}, got {shown}.", self.hint)

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        return core.no_info_wrap_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), "description": f"{self.words[0].upper()}{self.words[1:]}."}


@dataclass(frozen=True, eq=False)
class InSchema:
    """Says how the JSON Schema writes a type, where pydantic would say less, or the same at length."""

    schema: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return dict(self.schema)


@dataclass(frozen=True, eq=False)
class Form(Checked):
    """A mapping with these keys, and a form for each."""

    required: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict[str, Any])
    example: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    others: Any = None
    """The form of all other keys, which may then be called anything; None if there are none."""
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys that belong to other forms, and what to say to whoever looks for them here."""
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to do where a required key is missing, if an example of the whole does not say it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are possible."""
        return (*self.required, *self.optional)

    def check(self, body: Any) -> Any:
        """Refuse what is not a mapping, and keys that are unknown or missing, with the nearest key as a hint."""
        if not isinstance(body, dict):
            raise wrong(f"must be a mapping, got {got(body)}.", self._hint)
        for key in body if self.others is None else ():
            if key not in self.keys:
                meant = _ALSO_CALLED.get(str(key).casefold())
                spelt = nearest(meant if meant in self.keys else str(key), self.keys)
                hint = self.elsewhere.get(str(key)) or spelt
                raise wrong(f"unknown key {brief(key)}.", hint, key=key)
        for key in self.required:
            if key not in body:
                raise wrong(f".{key} is missing.", self.missing.get(key, self._hint))
        return body if self.others is None else _with_text_keys(body)

    @property
    def _hint(self) -> str:
        return f"write {self.example}." if self.example else "see the examples folder for a file that works."

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        fields = {
            key: core.typed_dict_field(handler.generate_schema(form), required=key in self.required)
            for key, form in {**self.required, **self.optional}.items()
        }
        if self.others is None:
            built = core.typed_dict_schema(fields, extra_behavior="forbid")
        else:
            others = handler.generate_schema(self.others)
            built = core.typed_dict_schema(fields, extra_behavior="allow", extras_schema=others)
        return core.no_info_before_validator_function(self.check, built)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), **self.schema}


def _with_text_keys(body: dict[Any, Any]) -> dict[str, Any]:
    """Write keys that are numbers or truth values as text, as they are in JSON."""
    written = {str(key).lower() if isinstance(key, bool) else str(key): part for key, part in body.items()}
    if len(written) < len(body):
        raise wrong("two keys are written alike.", "a number and the same number in quotation marks are one key.")
    return written


@dataclass(frozen=True, eq=False)
class Several(Checked):
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
            raise wrong(f"must be {many} {self.noun}, got {got(body)}.", f"write {self.example}.")
        if len(body) < self.least:
            few = "must not be empty." if self.least == 1 else f"must have at least {self.least} {self.noun}."
            raise wrong(few, f"write {self.example}.")
        for name in body if isinstance(body, dict) else ():
            if not isinstance(name, str):
                raise wrong(f"the name of an attribute must be text, got {brief(name)}.", "put quotes around it.")
        if self.most is not None and len(body) > self.most:
            raise wrong(f"must have at most {self.most:,} {self.noun}, got {len(body):,}.")
        return body

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        part, length = handler.generate_schema(self.form), {"min_length": self.least, "max_length": self.most}
        in_list = self.holder is list
        built = core.list_schema(part, **length) if in_list else core.dict_schema(core.any_schema(), part, **length)
        return core.no_info_before_validator_function(self.check, built)


@dataclass(frozen=True, eq=False)
class Bare(Checked):
    """A keyword without options: ``full``."""

    keyword: str

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        said = {"message": f"{self.keyword} takes no options.", "hint": f"write: {self.keyword}"}
        literal = core.literal_schema([self.keyword])
        return core.custom_error_schema(literal, OUR_ERROR, custom_error_message="{message}", custom_error_context=said)


def wrong(message: str, hint: str | None = None, *, key: object = None) -> Exception:
    """Say in our words what is wrong with a part of a file.

    The message continues the location: ``must be ..``, ``.key is missing``, or else a sentence after a colon.
    ``key`` is the key that is meant, if it is one of those in the part, and leads to its line.
    """
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(OUR_ERROR, "{message}", {"message": message, "hint": hint or "", "key": key})


def got(value: object) -> str:
    """Quote what a file has instead of what is wanted; a list of up to three numbers too."""
    if type(value) is list and len(value) <= _MOST_QUOTED and all(type(each) in (int, float) for each in value):
        return f"[{', '.join(map(brief, value))}]"
    return "nothing" if value is None else "a mapping" if type(value) is dict else brief(value)


# Kinds that are known by a keyword, and the form of a part of a file that may be any of them.


@dataclass(frozen=True, eq=False)
class Anything(Checked):
    """A keyword, or any mapping that has it: for a class that states no form."""

    keyword: str

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        return core.any_schema()

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {"anyOf": [{"const": self.keyword}, {"type": "object", "required": [self.keyword]}]}


@dataclass(frozen=True, eq=False)
class OneOf(Checked):
    """One of the kinds that a registry knows when a file is read, distinguished by the keyword that is there."""

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
    advice: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to write in place of words that other programs use; ``{name}`` and ``{names}`` stand for what follows."""

    def check(self, body: Any) -> Any:
        """Refuse what names no kind, or several."""
        if not isinstance(body, str | dict):
            raise wrong(f"must be {self.noun}, got {got(body)}.", f"write {self.example}.")
        chosen = _keywords(self.kinds, body, self.form)
        if not chosen:
            strange = [body] if isinstance(body, str) else [str(key) for key in body if key not in self.shared]
            advice = next((self._advice(word, body) for word in strange if word.casefold() in self.advice), None)
            hint = advice or _closest(strange, self.kinds)
            raise wrong(f"{self.noun} has one {self.has}, got {_listed(strange)}.", hint)
        if len(chosen) > 1:
            raise wrong(f"{self.noun} has one {self.has}, got {_listed(chosen)}.", "keep one of them.")
        form = self.form(self.kinds[chosen[0]])
        return form.check(body) if isinstance(body, str) and isinstance(form, Form) else body

    def _advice(self, word: str, body: str | dict[Any, Any]) -> str:
        given: Any = body.get(word) if isinstance(body, dict) else None
        several = isinstance(given, list) and given
        names = [*map(str, given)] if several else [given if given and isinstance(given, str) else "age"]
        return self.advice[word.casefold()].format(name=names[0], names=", ".join(names))

    def _tag(self, body: Any) -> str:
        return f"{TAG}{_keywords(self.kinds, body, self.form)[0]}"

    def in_pydantic(self, core: Any, handler: Any, source: Any) -> Any:
        # Inside one of the kinds the union of all refers to itself.
        if self.name in _building.get():
            return core.definition_reference_schema(self.name)
        inside = _building.set(_building.get() | {self.name})
        try:
            forms = {keyword: self.form(self.kinds[keyword]) for keyword in sorted(self.kinds)}
            choices = {f"{TAG}{keyword}": handler.generate_schema(form) for keyword, form in forms.items()}
        finally:
            _building.reset(inside)
        union = core.tagged_union_schema(choices, self._tag)
        return core.no_info_before_validator_function(self.check, union, ref=self.name)


_building: ContextVar[frozenset[str]] = ContextVar("unions being built", default=frozenset())


def _listed(names: Sequence[str]) -> str:
    shown = [brief(name) for name in names[:3]]
    return f"{' and '.join(shown)}{' and more' if len(names) > 3 else ''}" if shown else "none"


def _closest(names: Sequence[str], kinds: Iterable[str]) -> str:
    """Suggest a keyword for one of several strange names: the first is not always the misspelt one."""
    hints = [nearest(name, kinds) for name in names[:10]] or [nearest("", kinds)]
    return next((hint for hint in hints if hint.startswith("did you mean")), hints[0])


def enter(kinds: MutableMapping[str, Any], name: str, kind: type) -> None:
    """Make a class known by a name, which must not be that of another: files and documents would change their meaning.

    The same class may be defined again, as when a notebook runs a cell twice.
    """
    other = kinds.get(name)
    if other is not None and (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
        raise SpecError(
            f"{kind.__qualname__} cannot be called {name!r}: {other.__module__}.{other.__qualname__} is.",
            hint="choose another name.",
        )
    kinds[name] = kind


def register(kinds: dict[str, Any], kind: Any, unstated: Callable[[str], Any] = lambda word: Form({word: Any})) -> None:
    """Enter a class under its keyword, if it has one, with a lenient form if it states none."""
    if "keyword" in vars(kind):
        enter(kinds, kind.keyword, kind)
        if "file_form" not in vars(kind):
            kind.file_form = unstated(kind.keyword)


def kind_of(kinds: Mapping[str, Any], body: Any) -> Any:
    """Return the class that reads a part of a file, once the part is checked."""
    return kinds[_keywords(kinds, body, attrgetter("file_form"))[0]]


def _keywords(kinds: Mapping[str, Any], body: Any, form: Callable[[Any], Any]) -> list[str]:
    """List the keywords in a part of a file; one that allows for any other keys stands before these."""
    named = [name for name in ([body] if isinstance(body, str) else body) if name in kinds]
    return [name for name in named if getattr(form(kinds[name]), "others", None) is not None] or named


# The forms of single values that occur in many parts of a policy file.


def listed(items: Mapping[str, Any], *, least: int = 0, unique: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a list."""
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = rf"^\s*[-+]?({_DIGITS}\s*/\s*{_DIGITS}|({_DIGITS}\.?|({_DIGITS})?\.{_DIGITS})([eE][-+]?{_DIGITS})?)\s*$"

EXACT_SCHEMA = {"type": ["number", "string"], "pattern": _NUMBER}
Exact: TypeAlias = Annotated[int | Decimal | float | str, InSchema(EXACT_SCHEMA)]
"""A number that is read exactly: 5, 0.5, "1/3"."""
Above0: TypeAlias = Annotated[int | Decimal | float | str, InSchema({**EXACT_SCHEMA, "exclusiveMinimum": 0})]
Positive: TypeAlias = Annotated[Above0, Wanted("a number above 0", "write it like 5, 0.5, '1/3' or '0.05'.")]
Value: TypeAlias = Annotated[int | Decimal | float | str | bool, InSchema({"type": ["number", "string", "boolean"]})]
"""A value of an attribute."""
Name: TypeAlias = Annotated[str, Wanted("the name of an attribute")]
Names: TypeAlias = Annotated[
    Annotated[list[str], Len(1), InSchema(listed({"type": "string"}, least=1, unique=True))] | str,
    Wanted("the name of an attribute, or a list of names"),
]
