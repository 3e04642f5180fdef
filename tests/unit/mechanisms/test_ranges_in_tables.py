"""Ordered attributes as ranges inside sets of tables: how they are asked for, certified, estimated and chosen."""

from __future__ import annotations

import pytest

import blowfish_privacy as bp

AGE = {"attribute": "age", "as": "ranges"}
PEOPLE = bp.Domain(
    age=bp.Integer(0, 11), sex=bp.Categorical(["f", "m"]), zone=bp.Categorical(["n", "s", "w"]), pay=bp.Integer(0, 8)
)


def test_an_attribute_asked_for_as_ranges_is_so_in_all_tables():
    query = bp.Tables([[AGE, "sex"], ["age", "zone"]])
    assert query.ranges == {"age"}
    assert query.tables == (("age", "sex"), ("age", "zone"))
    assert query.to_file(PEOPLE) == {"tables": [[AGE, "sex"], [AGE, "zone"]]}
    assert query == bp.Tables([["age", "sex"], [AGE, "zone"]]) != bp.Tables([["age", "sex"], ["age", "zone"]])
    pairs = bp.Tables.of_ways(2, [AGE, "sex", "zone"])
    assert pairs.to_file(PEOPLE) == {"tables": {"ways": 2, "of": [AGE, "sex", "zone"]}}
    for each in (query, pairs, bp.Tables([["sex"]])):
        assert bp.Tables.from_file(each.to_file(PEOPLE)) == each
        assert each.on(PEOPLE).ranges == {each.on(PEOPLE).domain.axis(name) for name in each.ranges}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([{"attribute": "zone", "as": "ranges"}], "'zone' cannot be asked for as ranges: its values have no order"),
        ([AGE, "age"], "names an attribute twice"),
        ([{"attribute": "age", "as": "range"}], "is named, or asked for as ranges"),
        ([{"attribute": "age"}], "is named, or asked for as ranges"),
        ([{"attribute": 5, "as": "ranges"}], "must be text"),
    ],
)
def test_what_is_no_range_is_refused(table, said):
    with pytest.raises(bp.QueryError, match=said):
        bp.Tables([table]).on(PEOPLE)
