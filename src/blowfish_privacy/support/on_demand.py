"""Modules that are imported when something in them is first used: a command loads what it needs, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def attributes_of(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names are defined in modules below it."""
    module_of = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return find


class KindsOnDemand(MutableMapping[str, Kind]):
    """A registry of classes by name: those of this package are imported when they are looked up.

    They come first, in the order of their modules; what other projects define comes after them.
    """

    def __init__(self, package: str, modules: Mapping[str, str]) -> None:
        self._modules = {name: f"{package}.{module}" for name, module in modules.items()}
        self._loaded: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._loaded and name in self._modules:
            import_module(self._modules[name])
        return self._loaded[name]

    def __setitem__(self, name: str, kind: Kind) -> None:
        self._loaded[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._modules, *self.foreign])

    def __len__(self) -> int:
        return len(self._modules) + len(self.foreign)

    def clear(self) -> None:
        """Forget what was defined elsewhere."""
        for name in self.foreign:
            del self._loaded[name]

    @property
    def foreign(self) -> list[str]:
        """The names that other projects defined."""
        return [name for name in self._loaded if name not in self._modules]
