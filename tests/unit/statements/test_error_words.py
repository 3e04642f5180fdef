"""Typical errors in words: of what, and counted in what."""

from __future__ import annotations

import pytest

from blowfish_privacy.batch import plan_release
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import PublicNumbers
from blowfish_privacy.statements.plan import error_words

FILE = """
version: 1
policy:
  domain:
    age: {{integer: [0, 20]}}
    hours: {{integer: [0, 20]}}
    sex: {{categorical: [Female, Male]}}
  secrets: full
  size: 60
releases:
  - {{name: it, {asked}, epsilon: 0.3}}
"""


def no_data():
    raise AssertionError


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("histogram: [age, sex]", "about 9.42 (of a cell, in records)"),
        ("median: age", "(of a random range, in records)"),
        ("range_grid: [age, hours]", "(of a random rectangle, in records)"),
        ("mean: age", "about 1.57 (of the mean, in units of age)"),
        (
            "mean: age, by: sex",
            "about 7.26 (of the mean of a group of 30 records, as if all groups had the same size, in units of age)",
        ),
        ("mean: age, where: {sex: Male}", "(of the mean times the number of records, in units of age)"),
        ("sum: age", "(of the sum, in units of age)"),
        ("kmeans: [age, hours], k: 2", "(of a cell of the grid, in records)"),
    ],
)
def test_an_error_says_of_what_it_is_and_in_what_it_is_counted(asked, said):
    file = spec.loads(FILE.format(asked=asked))
    plan = plan_release(file.releases[0], file, PublicNumbers(file.policy, no_data))
    assert error_words(plan).endswith(said)
