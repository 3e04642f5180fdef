"""Docstrings: their examples give what they say, and no public method goes without one, its own or its base's."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from inspect import getdoc, isclass
from pkgutil import walk_packages
from types import FunctionType

import pytest

import blowfish_privacy as bp
from docs.pages import ROOT

SOURCE = ROOT / "src"
SHOWING = [path for path in SOURCE.rglob("*.py") if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.stem)
def test_examples_in_docstrings_run(path):
    module = import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
    names = {name: getattr(bp, name) for name in bp.__all__}
    done = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted
    assert not done.failed


def public_methods() -> Iterator[tuple[str, bool]]:
    """Yield what a class defines under a public name, and whether it or a base describes it."""
    for package in ("blowfish_privacy", "blowfish_lab"):
        for found in walk_packages(import_module(package).__path__, f"{package}."):
            if found.name.endswith("__main__"):
                continue
            try:
                module = import_module(found.name)
            except ModuleNotFoundError as error:
                # What needs the page's framework is looked at by make check, which has it.
                if (error.name or "").startswith("blowfish"):
                    raise
                continue
            for kind in list(vars(module).values()):
                if isclass(kind) and kind.__module__ == module.__name__ and not kind.__name__.startswith("_"):
                    for name, value in vars(kind).items():
                        # A field, or what the tests have put in place of the system's random bits.
                        if name in vars(kind).get("__annotations__", {}) or "lambda" in str(value):
                            continue
                        if isinstance(value, classmethod | staticmethod | property | cached_property | FunctionType):
                            described = any(name in vars(each) and getdoc(vars(each)[name]) for each in kind.__mro__)
                            yield f"{module.__name__}.{kind.__name__}.{name}", described


def test_every_public_method_is_described_where_it_is_introduced():
    bare = [place for place, described in public_methods() if not described]
    assert [place for place in bare if not place.rpartition(".")[2].startswith("_")] == []
