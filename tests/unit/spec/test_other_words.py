"""Words from other programs: the hint names what to write here, and that works."""

from __future__ import annotations

import re

import pytest

from blowfish_privacy.domain import Attribute
from blowfish_privacy.errors import SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.release.spec import ATTRIBUTE_ADVICE, QUERY_ADVICE

TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: r, ASKED, epsilon: 0.1}
"""


def hint_for(asked: str) -> str:
    with pytest.raises(SpecError) as caught:
        spec.loads(TEXT.replace("ASKED", asked))
    assert caught.value.message.startswith("line 8: release 'r': ")
    return caught.value.hint or ""


@pytest.mark.parametrize("word", QUERY_ADVICE)
def test_every_example_of_a_query_works(word):
    hint = hint_for(f"{word}: {'sex' if 'group' in word else 'age'}")
    written = re.findall(r"(?:write|or|for one table,|as in) ([a-z]+: [^;]*?)(?:, or |, which | for one|;|\.?$)", hint)
    assert written
    for example in written:
        spec.loads(TEXT.replace("ASKED", example))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("quantile: age", "quantiles: age, at: [0.25, 0.5, 0.75], or median: age"),
        ("average: age", "mean: age"),
        ("crosstab: [age, sex]", "histogram: [age, sex]"),
        ("mean: age, group_by: [sex]", "did you mean 'by'"),
        ("mean: age, filter: {sex: Male}", "did you mean 'where'"),
    ],
)
def test_the_hint_speaks_of_the_attributes_that_were_named(asked, said):
    assert said in hint_for(asked)


@pytest.mark.parametrize("word", [word for word in ATTRIBUTE_ADVICE if word not in Attribute.kinds])
def test_other_kinds_of_attributes_say_how_to_declare_them(word):
    with pytest.raises(SpecError) as caught:
        spec.loads(TEXT.replace("integer:", f"{word}:").replace("ASKED", "histogram: [sex]"))
    assert re.search(r"\{(date|decimal|categorical|integer): \[", caught.value.hint or "")


def test_dates_in_place_of_whole_numbers_say_how_they_are_declared():
    with pytest.raises(SpecError, match=r"day: \{date: \[2020-01-01, 2020-12-31\], step: day\}"):
        spec.loads(TEXT.replace("[17, 90]", "[2020-01-01, 2020-12-31]").replace("ASKED", "histogram: [sex]"))
