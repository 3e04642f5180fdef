"""Errors of a policy file know their line."""

from __future__ import annotations

import pytest

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.release import spec

TEXT = """version: 1
data: people.csv
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}
  secrets: full
releases:
  - {name: ages, histogram: [age], epsilon: 0.1}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("[17, 90]}", "[17, 90", 6),  # where the bracket is opened
        ("[17, 90]", "[90, 17]", 6),
        ("[17, 90]", "old", 6),
        ("full", "ful", 7),
        ("full", "{threshold: 0}", 7),
        ("[age]", "[aeg]", 9),
        ("0.1", "0,1", 9),
        ("0.1", "-1", 9),
        ("version: 1", "version: 2", 1),
        ("version: 1", "version: &one 1", 1),
        ("data: people.csv", 'data: "a\\0"', 2),
        ("1.0", "none", 3),
        ("1.0", "{rho: 1, epsilon: 1}", 3),
        ("data: people.csv", "version: 1", 2),
        ("secrets: full", "secrets: full\n  sise: 7", 8),
        ("0.1}", "0.1, epsilom: 1}", 9),
        ("budget: 1.0", "bugdet: 1.0", 3),
        ("secrets: full", "secrets: full\n  known: [{marginal: [sex]}]", 4),
    ],
)
def test_an_error_knows_its_line(old: str, new: str, line: int):
    with pytest.raises(BlowfishError) as caught:
        spec.loads(TEXT.replace(old, new, 1))
    assert caught.value.line == line


def test_an_error_that_has_no_place_has_no_line():
    with pytest.raises(BlowfishError) as caught:
        spec.loads("version: 1\n")
    assert caught.value.line is None
    assert BlowfishError("wrong.").within("here").line is None
    assert BlowfishError("wrong.", line=3).within("here").line == 3
