from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import Subset
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import MOST_NUMBERS
from blowfish_privacy.queries.synthetic import impossible_cells
from blowfish_privacy.release import spec
from blowfish_privacy.support import limits

DOMAIN = bp.Domain(age=bp.Integer(-2, 2), sex=bp.Categorical(["F", "M"]), wage=bp.Binned([0, 1, 5]))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: bp.Histogram(), "at least one attribute"),
        (lambda: bp.Histogram("age", "age"), "twice"),
        (lambda: bp.Histogram(5), "name must be text"),
        (lambda: bp.Histogram("agee"), "did you mean 'age'"),
        (lambda: bp.Cumulative("sex"), "no order"),
        (lambda: bp.Cumulative(["age"]), "name must be text"),
        (lambda: bp.Sum("sex"), "numbers to add up"),
        (lambda: bp.Mean("wage"), "numbers to add up"),
        (lambda: bp.Linear([[1]], "age"), "list of names"),
        (lambda: bp.Linear([[1]], []), "list of names"),
        (lambda: bp.Linear([[1, 2]], ["age"]), "must have 5 numbers"),
        (lambda: bp.Linear([], ["age"]), "function or a list of rows"),
        (lambda: bp.Linear(7, ["age"]), "function or a list of rows"),
        (lambda: bp.Linear(lambda age: [1] * (age + 3), ["age"]), "same number of outputs"),
        (lambda: bp.Linear(lambda age: [], ["age"]), "at least one output"),
        (lambda: bp.Linear(lambda age: "x", ["age"]), "finite number"),
        (lambda: bp.Linear(lambda age: float("nan"), ["age"]), "finite number"),
        (lambda: bp.Linear(lambda age: 2**70, ["age"]), "too many digits"),
    ],
)
def test_wrong_queries_are_refused(build, said):
    with pytest.raises(bp.QueryError, match=said):
        build().on(DOMAIN)


def test_answers_are_exact():
    ages = np.array([1, 0, 2, 0, 4])
    assert bp.Histogram("age").on(DOMAIN).answer(ages).tolist() == [1, 0, 2, 0, 4]
    assert bp.Cumulative("age").on(DOMAIN).answer(ages).tolist() == [1, 1, 3, 3, 7]
    assert bp.Sum("age").on(DOMAIN).answer(ages).tolist() == [-2 + 8]
    thirds = bp.Linear(lambda age: [Fraction(age, 3), age > 0], ["age"]).on(DOMAIN)
    assert thirds.unit == Fraction(1, 3)
    assert thirds.answer(ages).tolist() == [6, 12]


def test_sums_do_not_overflow_on_the_way():
    domain = bp.Domain(v=bp.Integer(2**60, 2**60 + 1))
    assert bp.Sum("v").on(domain).answer(np.array([2**40, 0])).tolist() == [2**100]


def test_queries_are_written_and_read_back():
    for query in (bp.Histogram("age", "sex"), bp.Cumulative("age"), bp.Sum("age"), bp.Mean("age")):
        assert type(query).from_file(query.to_file(DOMAIN)) == query
    written = bp.Linear(lambda age, sex: [0.5 * age, sex == "F"], ["age", "sex"]).to_file(DOMAIN)
    again = bp.Linear.from_file(written)
    assert again.to_file(DOMAIN) == written
    assert again.on(DOMAIN).unit == Fraction(1, 2)


# Linear queries over many values: planned from the structure of the graph, or refused before the work begins.


MANY = bp.Domain(wage=bp.Integer(0, 49_999), sex=bp.Categorical(["Female", "Male"]))

SECRETS = {
    "full": (bp.FullDomain(), 49_999),
    "threshold": (bp.PerAttribute(wage=bp.DistanceThreshold(7), sex=bp.FullDomain()), 7),
    "blocks": (bp.Partition(widths={"wage": 100}), 99),
    "by value": (bp.ByValue("sex", {"Female": bp.DistanceThreshold(7), "Male": bp.DistanceThreshold(20)}), 20),
}


@pytest.mark.parametrize(("secrets", "largest"), SECRETS.values(), ids=SECRETS)
def test_a_function_of_many_values_is_exact_and_lists_no_pairs(secrets, largest, monkeypatch):
    def listed(_graph):
        raise AssertionError("the secret pairs of a large domain were listed")

    monkeypatch.setattr(SecretGraph, "edges", listed)
    found = bp.sensitivity(bp.Linear(lambda wage: wage, ["wage"]), bp.Policy(MANY, secrets=secrets))
    assert (found.value, found.exact) == (largest, True)
    two = bp.sensitivity(bp.Linear(lambda wage: [wage, -2 * wage], ["wage"]), bp.Policy(MANY, secrets=secrets))
    assert (two.value, two.exact) == (3 * largest, True)


def test_a_function_is_called_once_for_each_value():
    seen = []
    query = bp.Linear(lambda age: seen.append(age) or age, ["age"])
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 9)), secrets=bp.DistanceThreshold(3))
    session = bp.Session(bp.Counts([1] * 10), policy, budget=1)
    session.release(session.plan(query, epsilon="0.5"))
    assert seen == [*range(10)]


def test_what_cannot_be_tabulated_is_refused_before_the_work():
    seen = []
    wide = bp.Domain(a=bp.Integer(0, MOST_NUMBERS))
    with pytest.raises(bp.QueryError, match="too large to tabulate"):
        bp.Linear(seen.append, ["a"]).on(wide)
    assert not seen
    with pytest.raises(bp.QueryError, match=r"too many digits.*round\(weight, 2\)"):
        bp.Linear(lambda wage: seen.append(wage) or wage / 3, ["wage"]).on(MANY)
    assert len(seen) < 10
    with pytest.raises(bp.QueryError, match="200 outputs for each of 50,000 values"):
        bp.Linear(lambda wage: seen.append(wage) or [wage] * 200, ["wage"]).on(MANY)
    assert len(seen) < 20


# What can be asked for as synthetic records, and what is refused before anything is planned.


SYNTHETIC_DOMAIN = bp.Domain(
    age=bp.Integer(0, 90),
    status=bp.Categorical(["single", "married", "widowed"]),
    sex=bp.Categorical(["F", "M"]),
    wage=bp.Binned([0, 10, 50, 200]),
    place=bp.Hierarchy(["state", "county"], {"A": ["a", "b"], "B": ["c"], "C": ["d", "e"]}),
    one=bp.Categorical(["only"]),
    code=bp.Integer(0, 999_999),
)

NAMES = ["age", "status", "sex", "wage"]

CHILDREN = {"age": (0, 14), "status": ["married", "widowed"]}


def test_unless_stated_all_tables_of_three_attributes_shall_be_accurate():
    query = bp.Synthetic(NAMES)
    assert query.workload == 3
    assert query.tables() == tuple(combinations(range(4), 3))
    assert bp.Synthetic(NAMES[:2]).tables() == ((0, 1),)
    assert query == bp.Synthetic(tuple(NAMES), 3)
    assert hash(query) == hash(bp.Synthetic(NAMES, 3))


def test_a_workload_may_name_its_tables():
    query = bp.Synthetic(NAMES, [["sex", "age"], ["wage"]])
    assert query.tables() == ((0, 2), (3,))
    assert bp.Synthetic(NAMES, [["age", "status", "sex", "wage"]]).tables() == ((0, 1, 2, 3),)


def test_the_default_workload_stays_within_the_limit():
    names = [f"a{number}" for number in range(limits.SYNTHETIC_ATTRIBUTES)]
    assert bp.Synthetic(names).workload == 2
    assert bp.Synthetic(names[:100]).workload == 3
    with pytest.raises(bp.QueryError, match="at most 200,000 tables"):
        bp.Synthetic(names, 3)


def test_its_form_is_that_of_the_tables_of_single_attributes():
    form = bp.Synthetic(["sex", "place@state"]).on(SYNTHETIC_DOMAIN)
    assert form.domain.names == ("sex", "place@state")
    assert [block.axes for block in form.blocks] == [(0,), (1,)]
    assert form.outputs == 2 + 3
    policy = bp.Policy(SYNTHETIC_DOMAIN, secrets=bp.Attributes())
    # One record moves from one value of one attribute to another.
    assert bp.sensitivity(bp.Synthetic(NAMES), policy).value == 2
    assert bp.sensitivity(bp.Synthetic(NAMES), bp.Policy(SYNTHETIC_DOMAIN, secrets=bp.FullDomain())).value == 2 * len(
        NAMES
    )


def test_impossible_combinations_become_positions():
    query = bp.Synthetic([*NAMES, "place"], impossible=[CHILDREN, {"sex": "F", "place@state": "A"}])
    first, second = query.boxes(SYNTHETIC_DOMAIN)
    assert first == {0: Subset.span(0, 15), 1: Subset.span(1, 3)}
    assert second == {2: Subset.span(0, 1), 4: Subset.span(0, 2)}
    marked = impossible_cells((0, 1), [first], query.on(SYNTHETIC_DOMAIN).domain.shape)
    assert marked.sum() == 15 * 2
    assert marked[14, 1]
    assert not marked[15, 1]
    assert not marked[0, 0]
    assert np.array_equal(marked.T, impossible_cells((1, 0), [first], query.on(SYNTHETIC_DOMAIN).domain.shape))


def test_conditions_on_a_level_that_is_asked_for():
    query = bp.Synthetic(["sex", "place@state"], impossible=[{"sex": "M", "place@state": ["A", "C"]}])
    assert query.boxes(SYNTHETIC_DOMAIN) == ({0: Subset.span(1, 2), 1: Subset.of([0, 2])},)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: bp.Synthetic("age"), "list of attributes"),
        (lambda: bp.Synthetic([]), "list of attributes"),
        (lambda: bp.Synthetic(7), "list of attributes"),
        (lambda: bp.Synthetic(["age"]), "at least two attributes.*histogram"),
        (lambda: bp.Synthetic(["age", "age"]), "twice"),
        (lambda: bp.Synthetic(["age", 5]), "name must be text"),
        (lambda: bp.Synthetic([f"a{n}" for n in range(501)]), "at most 500 attributes"),
        (lambda: bp.Synthetic(["age", "agee"]), "did you mean 'age'"),
        (lambda: bp.Synthetic(["age", "one"]), "one value only.*leave it out"),
        (lambda: bp.Synthetic(["age", "code"]), "1,000,000 values; .* at most 65,536.*coarser"),
        (lambda: bp.Synthetic(["place", "place@state"]), "two levels"),
        (lambda: bp.Synthetic(NAMES, []), "workload is empty"),
        (lambda: bp.Synthetic(NAMES, 0), "1 to 4 attributes"),
        (lambda: bp.Synthetic(NAMES, 5), "1 to 4 attributes"),
        (lambda: bp.Synthetic(NAMES[:2], 3), "1 to 2 attributes"),
        (lambda: bp.Synthetic(NAMES, True), "whole number or a list"),
        (lambda: bp.Synthetic(NAMES, "age"), "whole number or a list"),
        (lambda: bp.Synthetic(NAMES, ["age"]), "list of 1 to 4"),
        (lambda: bp.Synthetic(NAMES, [[]]), "list of 1 to 4"),
        (lambda: bp.Synthetic([*NAMES, "place"], [[*NAMES, "place"]]), "list of 1 to 4"),
        (lambda: bp.Synthetic(NAMES, [["age", "place"]]), "do not have"),
        (lambda: bp.Synthetic(NAMES, [["age", "age"]]), "twice"),
        (lambda: bp.Synthetic(NAMES, [["age", "sex"], ["sex", "age"]]), "twice"),
        (lambda: bp.Synthetic(NAMES, impossible=[]), "list of conditions"),
        (lambda: bp.Synthetic(NAMES, impossible=CHILDREN), "list of conditions"),
        (lambda: bp.Synthetic(NAMES, impossible=[{"age": 3}]), "at least two attributes"),
        (lambda: bp.Synthetic(NAMES, impossible=[CHILDREN] * 1001), "at most 1,000"),
        (lambda: bp.Synthetic(NAMES, impossible=[{"age": 3, "place": "a"}]), "unknown attribute"),
        (lambda: bp.Synthetic(NAMES, impossible=[{"age": 300, "sex": "F"}]), "outside"),
        (lambda: bp.Synthetic(NAMES, impossible=[{"age": 3, "sex": ["F", "M"]}]), "of at least two attributes"),
        (
            lambda: bp.Synthetic(NAMES, impossible=[{"age": 3, "wage": (0, 10), "status": "single", "sex": "F"}] * 2),
            None,
        ),
        (
            lambda: bp.Synthetic(
                ["sex", "status"],
                impossible=[
                    {"sex": "F", "status": ["single"]},
                    {"sex": "F", "status": ["married", "widowed"]},
                    {"sex": "M", "status": ["single", "married"]},
                    {"sex": "M", "status": "widowed"},
                ],
            ),
            "every combination",
        ),
        (lambda: bp.Synthetic(NAMES, keep="sex"), "list of attributes"),
        (lambda: bp.Synthetic(NAMES, keep=["place"]), "do not have"),
        (lambda: bp.Synthetic(NAMES, keep=["sex", "sex"]), "twice"),
        (lambda: bp.Synthetic(NAMES, keep=NAMES), "nothing made up"),
    ],
)
def test_what_does_not_fit_is_refused(build, said):
    if said is None:
        build().on(SYNTHETIC_DOMAIN)
        return
    with pytest.raises(bp.QueryError, match=said):
        build().on(SYNTHETIC_DOMAIN)


def test_conditions_on_very_many_combinations_are_refused():
    wide = bp.Domain(a=bp.Integer(0, 9_999), b=bp.Integer(0, 9_999))
    with pytest.raises(bp.QueryError, match="100,000,000 cells; at most 1,000,000"):
        bp.Synthetic(["a", "b"], impossible=[{"a": 1, "b": 2}]).on(wide)


def test_of_some_records_it_is_not_asked():
    session = bp.Session(bp.Counts(np.ones((3, 2), dtype=int)), _small_policy(), budget=1)
    for asked in (bp.Synthetic(["a", "b"]).where(c=1), bp.Synthetic(["a", "b"]).by("c")):
        with pytest.raises(bp.QueryError):
            session.plan(asked, epsilon="0.5")
    with pytest.raises(bp.QueryError, match="choose among the synthetic records"):
        session.plan(bp.Synthetic(["a", "b"]).where(a=1), epsilon="0.5")


def _small_policy() -> bp.Policy:
    return bp.Policy(bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 1)), secrets=bp.Attributes())


def test_it_is_written_and_read_back():
    wide = bp.Synthetic([*NAMES, "place"], 2, impossible=[CHILDREN, {"sex": "F", "wage": [(0, 10)]}], keep=["sex"])
    for query in (bp.Synthetic(NAMES), bp.Synthetic(NAMES, [["age", "sex"]]), wide):
        again = Query.read(json.loads(json.dumps(query.to_file(SYNTHETIC_DOMAIN))))
        assert again == query
        assert isinstance(again, bp.Synthetic)
        assert again.boxes(SYNTHETIC_DOMAIN) == query.boxes(SYNTHETIC_DOMAIN)


def _file(**entry: object) -> str:
    domain = {
        "age": {"integer": [0, 90]},
        "status": {"categorical": ["single", "married", "widowed"]},
        "sex": {"categorical": ["F", "M"]},
    }
    body = {"domain": domain, "secrets": "attributes"}
    return json.dumps({"version": 1, "policy": body, "releases": [{"name": "people", "epsilon": 1, **entry}]})


def test_two_values_of_a_file_are_a_range_where_values_have_an_order():
    entry = {"synthetic": ["age", "status", "sex"], "impossible": [{"age": [0, 14], "status": ["married", "widowed"]}]}
    loaded = spec.loads(_file(**entry, keep="sex"))
    query = loaded.releases[0].query
    assert isinstance(query, bp.Synthetic)
    assert query.keep == ("sex",)
    assert query.kept() == (2,)
    assert query.boxes(loaded.policy.domain) == ({0: Subset.span(0, 15), 1: Subset.span(1, 3)},)
    # Written with what the domain says about it, so that a document needs none to be read.
    written = query.to_file(loaded.policy.domain)
    assert written["impossible"] == [{"age": {"range": [0, 14]}, "status": {"values": ["married", "widowed"]}}]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"synthetic": ["age"]}, "at least two attributes"),
        ({"synthetic": "age"}, "at least two attributes"),
        ({"synthetic": ["age", "sex"], "workload": 0}, "1 to 4"),
        ({"synthetic": ["age", "sex"], "workload": []}, "1 to 4"),
        ({"synthetic": ["age", "sex"], "workload": [["age", "status"]]}, "do not have"),
        ({"synthetic": ["age", "sex"], "impossible": []}, "must not be empty"),
        ({"synthetic": ["age", "sex"], "impossible": [{}]}, "at least 2 attributes"),
        ({"synthetic": ["age", "sex"], "impossible": [{"age": 1}]}, "at least 2 attributes"),
        ({"synthetic": ["age", "sex"], "impossible": [{"agee": [1, 3], "sex": "F"}]}, "unknown attribute"),
        ({"synthetic": ["age", "sex"], "keep": ["status"]}, "do not have"),
        ({"synthetic": ["age", "sex"], "where": {"age": 3}}, "not available"),
    ],
)
def test_mistakes_in_a_file_are_named(entry, said):
    with pytest.raises(bp.BlowfishError, match=said):
        spec.loads(_file(**entry))
