"""The examples in docstrings, which the reference shows, give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

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
