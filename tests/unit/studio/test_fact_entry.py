"""Known facts as a form enters them."""

from typing import Any

import pytest

from blowfish_privacy.errors import SpecError
from blowfish_privacy.studio import secret_choice as entry
from blowfish_privacy.studio.draft import Draft

TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    wage: {binned: [0, 10, 20.5]}
    sex: {categorical: [Female, Male]}
    town: {categorical: [Ash, Birch, Cedar]}
  secrets: full # of all
"""


def draft_and_domain() -> tuple[Draft, Any]:
    draft = Draft(TEXT)
    assert draft.file is not None
    return draft, draft.file.policy.domain


def test_facts_come_and_go() -> None:
    draft, domain = draft_and_domain()
    fact = entry.table_fact(domain, ["sex"], ["10", " 20 "])
    assert fact == {"marginal": ["sex"], "counts": [10, 20]}
    assert draft.change(entry.with_fact(draft.body, fact)) is None
    assert draft.change(entry.with_fact(draft.body, entry.table_fact(domain, ["town"], None))) is None
    assert draft.file is not None
    assert len(draft.file.policy.known) == 2
    assert draft.change(entry.without_fact(draft.body, 0)) is None
    assert draft.body["policy"]["known"] == [{"marginal": ["town"]}]
    assert draft.change(entry.without_fact(draft.body, 0)) is None
    assert "known" not in draft.body["policy"]
    assert "# of all" in draft.text


@pytest.mark.parametrize(
    ("conditions", "equals", "written"),
    [
        ({"age": "17 to 25", "sex": [], "town": None}, "", {"count": {"age": [17, 25]}}),
        ({"age": "30", "sex": ["Female"]}, "12", {"count": {"age": 30, "sex": "Female"}, "equals": 12}),
        ({"town": ["Ash", "Cedar"]}, " 0 ", {"count": {"town": ["Ash", "Cedar"]}, "equals": 0}),
        ({"age": "17..20"}, "", {"count": {"age": [17, 20]}}),
    ],
)
def test_counts_are_written_as_the_file_has_them(conditions: Any, equals: str, written: Any) -> None:
    draft, domain = draft_and_domain()
    fact = entry.count_fact(domain, conditions, equals)
    assert fact == written
    assert draft.change(entry.with_fact(draft.body, fact)) is None


def test_ranges_of_bins_end_at_edges() -> None:
    draft, domain = draft_and_domain()
    fact = entry.count_fact(domain, {"wage": "10 to 20.5"}, "")
    assert [*map(str, fact["count"]["wage"])] == ["10", "20.5"]
    assert draft.change(entry.with_fact(draft.body, fact)) is None


def test_mistakes_are_named() -> None:
    _, domain = draft_and_domain()
    with pytest.raises(SpecError, match="no attribute"):
        entry.table_fact(domain, [], None)
    with pytest.raises(SpecError, match="has 2 counts, got 1"):
        entry.table_fact(domain, ["sex"], ["1"])
    with pytest.raises(SpecError, match="whole number"):
        entry.table_fact(domain, ["sex"], ["1", "-2"])
    with pytest.raises(SpecError, match="no condition"):
        entry.count_fact(domain, {"age": "", "sex": []}, "5")
    with pytest.raises(SpecError, match="two ends"):
        entry.count_fact(domain, {"age": "1 to 2 to 3"}, "")
    with pytest.raises(SpecError, match="a value must be"):
        entry.count_fact(domain, {"age": "young"}, "")


def test_defaults_are_left_out() -> None:
    draft, _ = draft_and_domain()
    for name, value in (("size", 500), ("rows_per_person", 2), ("compensation", "secret-moves")):
        default = entry.option_of(draft.body, name)
        assert draft.change(entry.with_option(draft.body, name, value)) is None
        assert entry.option_of(draft.body, name) == value
        assert draft.change(entry.with_option(draft.body, name, default)) is None
        assert name not in draft.body["policy"]


def test_cells_are_named_in_the_order_of_the_file() -> None:
    _, domain = draft_and_domain()
    assert entry.cell_names(domain, ["sex", "town"])[:4] == [
        "Female, Ash",
        "Female, Birch",
        "Female, Cedar",
        "Male, Ash",
    ]
    assert len(entry.cell_names(domain, ["age"])) == entry.MOST_FIELDS
    assert entry.split_counts("1, 2;3\n4\t5 ") == ["1", "2", "3", "4", "5"]
