"""Kinds that are known by a keyword, and the form of a part of a file that may be any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from blowfish_privacy.errors import SpecError, brief, nearest
from blowfish_privacy.support.file_forms import TAG, Form, got, wrong


@dataclass(frozen=True, eq=False)
class Anything:
    """A keyword, or any mapping that has it: for a class that states no form."""

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
    advice: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to write in place of words that other programs use; ``{name}`` and ``{names}`` stand for what follows."""

    def check(self, body: Any) -> Any:
        """Refuse what names no kind, or several."""
        if not isinstance(body, str | dict):
            raise wrong(f"must be {self.noun}, got {got(body)}.", f"write {self.example}.")
        chosen = self._chosen(body)
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
        names = [str(each) for each in given] if isinstance(given, list) and given else [given or "age"]
        names = [name if isinstance(name, str) else "age" for name in names]
        return self.advice[word.casefold()].format(name=names[0], names=", ".join(names))

    def _chosen(self, body: str | dict[Any, Any]) -> list[str]:
        return _keywords(self.kinds, body, self.form)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the tagged union of the kinds known now; inside one of them it refers to itself."""
        from pydantic_core import core_schema

        if self.name in _building.get():
            return core_schema.definition_reference_schema(self.name)
        inside = _building.set(_building.get() | {self.name})
        try:
            forms = {keyword: self.form(self.kinds[keyword]) for keyword in sorted(self.kinds)}
            choices = {f"{TAG}{keyword}": handler.generate_schema(form) for keyword, form in forms.items()}
        finally:
            _building.reset(inside)
        union = core_schema.tagged_union_schema(choices, lambda body: f"{TAG}{self._chosen(body)[0]}")
        return core_schema.no_info_before_validator_function(self.check, union, ref=self.name)


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
