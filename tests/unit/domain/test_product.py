from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.domain import Categorical, Domain, Integer
from blowfish_privacy.errors import DataError, DomainError
from blowfish_privacy.release import spec
from blowfish_privacy.release.verification import problems
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.testing.strategies import domains


@given(domains(), st.data())
def test_encode_and_decode_are_inverse(domain, data):
    numbers = data.draw(st.lists(st.integers(0, domain.size - 1)))
    assert [domain.flat(domain.unflat(number)) for number in numbers] == numbers
    assert domain.encode(domain.decode(np.array(numbers, dtype=np.int64))).tolist() == numbers
    for number in numbers:
        assert domain.cell(domain.record(domain.unflat(number))) == domain.unflat(number)


@given(domains(most_cells=40))
def test_cells_come_in_the_order_of_their_numbers(domain):
    cells = list(domain.cells())
    assert len(set(cells)) == domain.size
    assert [domain.flat(cell) for cell in cells] == list(range(domain.size))
    assert np.ravel_multi_index(np.array(cells).T, domain.shape).tolist() == list(range(domain.size))


def test_a_domain_of_a_million_million_cells_costs_nothing():
    domain = Domain(a=Integer(1, 10**6), b=Integer(1, 10**6))
    assert domain.size == 10**12
    assert domain.encode({"a": np.array([10**6]), "b": np.array([1])}).tolist() == [10**12 - 10**6]
    assert domain.decode([10**12 - 1])["b"].tolist() == [10**6]


def test_domains_too_large_for_64_bits_can_be_declared_but_not_numbered():
    domain = Domain({f"x{i}": Integer(1, 10**6) for i in range(4)})
    assert domain.size == 10**24
    with pytest.raises(DomainError, match="too many cells to number"):
        domain.encode({name: [1] for name in domain})


def test_what_does_not_fit_is_named():
    domain = Domain(age=Integer(17, 90), sex=Categorical(["Female", "Male"]))
    with pytest.raises(DomainError, match="age: 5 is outside"):
        domain.cell({"age": 5, "sex": "Male"})
    with pytest.raises(DomainError, match="did you mean 'Male'"):
        domain.cell({"age": 20, "sex": "male"})
    with pytest.raises(DomainError, match="has no value for sex"):
        domain.cell({"age": 20})
    with pytest.raises(DomainError, match="did you mean 'age'"):
        domain.cell({"agee": 20})
    with pytest.raises(DataError, match="no column sex"):
        domain.encode({"age": [20]})
    with pytest.raises(DataError, match="different lengths"):
        domain.encode({"age": [20, 21], "sex": ["Male"]})
    with pytest.raises(DataError, match=r"^age: the column has values outside"):
        domain.encode({"age": [5], "sex": ["Male"]})
    with pytest.raises(DomainError, match="positions must lie"):
        domain.decode([148])
    with pytest.raises(DomainError, match="twice"):
        domain.project(["age", "age"])


def test_domains_are_values():
    one, other = (Domain(age=Integer(17, 90), sex=Categorical(["F", "M"])) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != one.project(["sex", "age"])


# Releases of some records and of groups, as a user sees them.


DOMAIN = bp.Domain(
    age=bp.Integer(0, 9),
    sex=bp.Categorical(["F", "M"]),
    zone=bp.Categorical(["n", "s", "e"]),
    wage=bp.Integer(0, 49),
)

SECRETS = bp.PerAttribute(age=bp.FullDomain(), sex=bp.FullDomain(), zone=bp.Public(), wage=bp.DistanceThreshold(5))

ROWS = 3000


@pytest.fixture
def table():
    drawn = np.random.default_rng(7)
    return pd.DataFrame({
        "age": drawn.integers(0, 10, ROWS),
        "sex": drawn.choice(["F", "M"], ROWS),
        "zone": drawn.choice(["n", "s"], ROWS),
        "wage": drawn.integers(0, 50, ROWS),
    })  # fmt: skip


def opened(table, secrets=SECRETS, **options):
    return bp.Session(table, bp.Policy(DOMAIN, secrets=secrets, **options), budget=1000)


ASKED = {
    "histogram of women": bp.Histogram("age").where(sex="F"),
    "histogram of the young": bp.Histogram("age").where(age=(0, 3)),
    "histogram by sex": bp.Histogram("age").by("sex"),
    "histogram by zone and sex": bp.Histogram("age").by("zone", "sex"),
    "sum by zone": bp.Sum("wage").by("zone"),
    "sum of women": bp.Sum("wage").where(sex="F", age=[1, 2, 3]),
    "mean by zone": bp.Mean("wage").by("zone"),
    "mean by sex": bp.Mean("wage").by("sex"),
    "mean of women": bp.Mean("wage").where(sex="F"),
    "mean of the north": bp.Mean("wage").where(zone="n"),
    "median by sex": bp.Median("wage").by("sex"),
    "quantiles by zone": bp.Quantiles("wage", ["0.1", "0.9"]).by("zone"),
    "cumulative of women": bp.Cumulative("wage").where(sex="F"),
    "ranges by zone": bp.Ranges("wage", [(0, 9), (10, 49)]).by("zone"),
    "weights by zone and sex": bp.Linear(lambda age: age >= 5, attributes=["age"]).where(zone="n").by("zone", "sex"),
    "grid of women": bp.RangeGrid("age", "wage").where(sex="F"),
}  # fmt: skip


@pytest.mark.parametrize("size", ["known", "unknown"])
@pytest.mark.parametrize("secrets", [SECRETS, bp.FullDomain()], ids=["per attribute", "full"])
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_every_query_is_answered_and_reads_back(table, tmp_path, asked, secrets, size):
    session = opened(table, secrets, size=size)
    plan = session.plan(asked, epsilon=20, name="asked")
    assert plan.epsilon == 20
    assert plan.explain()
    result = session.release(plan)
    assert session.ledger.spent == 20
    assert problems(result.text) == []
    assert make_card(result.text).summary
    again = results.from_text(result.text)
    assert type(again) is type(result)
    result.to_csv(tmp_path / "a.csv")
    assert len(pd.read_csv(tmp_path / "a.csv")) == len(result.to_frame()) > 0
    result.plot(tmp_path / "a.png")


def test_answers_are_near_the_truth(table):
    session = opened(table)
    women = table[table.sex == "F"]
    ages = session.release(bp.Histogram("age").where(sex="F"), epsilon=20)
    assert np.abs(ages.counts - np.bincount(women.age, minlength=10)).max() < 5
    means = session.release(bp.Mean("wage").by("zone", "sex"), epsilon=20)
    for (zone, sex), result in means.items():
        if zone != "e":
            true = table[(table.zone == zone) & (table.sex == sex)].wage.mean()
            assert abs(result.value - true) < 0.2
    medians = session.release(bp.Median("wage").by("sex"), epsilon=20)
    for sex, result in medians.items():
        assert abs(result.quantile("0.5") - table[table.sex == sex].wage.median()) <= 2
    public = session.release(bp.Mean("wage").by("zone"), epsilon=20)
    assert set(public) == {"n", "s"}  # nobody lives in the east, and that is public
    assert public["n"].release.records == int((table.zone == "n").sum())
    young = session.release(bp.Histogram("age").where(age=(0, 3)), epsilon=20)
    assert list(young.to_frame().age) == ["0", "1", "2", "3"]
    assert (young.counts[4:] == 0).all()


def test_public_groups_are_charged_in_parallel_across_releases_and_sessions(table, tmp_path):
    policy = bp.Policy(DOMAIN, secrets=SECRETS)
    path = tmp_path / "zones.ledger"
    first = bp.Session(table, policy, budget=1, ledger=path, create=True)
    first.release(bp.Histogram("age").where(zone="n"), epsilon="0.6")
    second = bp.Session(table, policy, ledger=path)
    second.release(bp.Histogram("age").where(zone="s"), epsilon="0.7")
    assert second.ledger.balances == {"age": Fraction(7, 10), "sex": 0, "wage": 0}
    second.release(bp.Histogram("age").by("zone"), epsilon="0.1")
    assert second.ledger.spent == Fraction(8, 10)
    with pytest.raises(bp.BudgetError, match="change age"):
        second.release(bp.Histogram("age"), epsilon="0.3")
    second.release(bp.Histogram("age").where(zone="n"), epsilon="0.3", new=True)
    assert second.remaining == 0
    assert second.ledger.verify().ok


def test_a_secret_size_is_in_no_document(table):
    session = opened(table)
    for asked in (bp.Histogram("age").where(sex="F"), bp.Mean("wage").by("sex"), bp.Median("wage").where(age=(0, 4))):
        result = session.release(asked, epsilon=1)
        for each in result.values() if hasattr(result, "by") else [result]:
            assert each.release.records is None
            assert each.release.body["records"] is None
            assert "public_totals" not in each.release.body


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: bp.Histogram("age").where(sx="F"), "sx"),
        (lambda: bp.Histogram("age").where(sex="X"), "X"),
        (lambda: bp.Histogram("age").where({}), "at least one attribute"),
        (lambda: bp.Histogram("age").where(3), "maps attributes"),
        (lambda: bp.Histogram("age").where(sex="F").where(sex="M"), "already"),
        (lambda: bp.Histogram("age").by(), "at least one"),
        (lambda: bp.Histogram("age").by(3), "names of attributes"),
        (lambda: bp.Histogram("age").by("sex", "sex"), "twice"),
        (lambda: bp.Histogram("age").by("age"), "same within each group"),
        (lambda: bp.Histogram("age").by("sx"), "sx"),
        (lambda: bp.KMeans(["age"], k=2).where(sex="F"), "not available"),
        (lambda: bp.Histogram("age").where(age=[]), "no value"),
    ],
)
def test_what_cannot_be_asked_is_refused(table, asked, said):
    session = opened(table)
    with pytest.raises(bp.BlowfishError, match=said):
        session.plan(asked(), epsilon=1)
    assert session.ledger.entries() == ()


def test_known_facts_that_tie_groups_together_refuse_them(table):
    known = [bp.KnownMarginal("sex")]
    session = bp.Session(table, bp.Policy(DOMAIN, secrets=bp.Attributes(), known=known), budget=9)
    with pytest.raises(bp.RefusalError, match="no release of a part"):
        session.plan(bp.Histogram("age").by("zone"), epsilon=1)


def test_a_condition_on_the_attribute_itself_holds_for_what_is_shown(table):
    session = opened(table)
    young = session.release(bp.Median("wage").where(wage=(20, 25)), epsilon="0.1")
    assert 20 <= young.quantile("0.5") <= 25
    assert young.counts[:20].sum() == 0 == young.counts[26:].sum()
    assert 20 <= session.release(bp.Mean("wage").where(wage=(20, 25)), epsilon="0.1").value <= 25
    grid = session.release(bp.RangeGrid("age", "wage").where(wage=(20, 25)), epsilon="0.1")
    assert grid.range((0, 9), (0, 19)) == 0


def test_add_or_remove_privacy_of_some_records(table):
    session = opened(table, bp.AddRemove())
    for asked in (bp.Histogram("age").by("zone"), bp.Mean("wage").where(sex="F"), bp.Median("wage").by("sex")):
        result = session.release(asked, epsilon=1)
        assert problems(result.text) == []
    assert session.ledger.balances == {"presence": 3}


@pytest.mark.filterwarnings("error::blowfish_privacy.errors.BlowfishWarning")
def test_parts_without_secrets_warn_nobody(table):
    secrets = bp.ByValue("zone", {"n": bp.FullDomain(), "s": bp.Public(), "e": bp.Public()})
    session = opened(table, secrets)
    plan = session.plan(bp.Histogram("age").by("zone"), epsilon=1)
    assert plan.explain()
    ages = session.release(plan)
    assert ages["s"].error().rmse == 0
    assert ages["n"].error().rmse > 0


def test_a_file_with_a_group_named_twice_is_refused():
    text = """
version: 1
policy: {domain: {age: {integer: [0, 9]}, sex: {categorical: [F, M]}}, secrets: attributes}
releases: [{name: a, histogram: [age], by: [sex, sex], epsilon: 0.1}]
"""
    with pytest.raises(bp.BlowfishError, match="twice"):
        spec.loads(text)


def test_groups_by_a_list_and_quotes_for_queries(table):
    assert bp.Histogram("age").by(["sex", "zone"]) == bp.Histogram("age").by("sex", "zone")
    session = opened(table)
    with pytest.raises(bp.QueryError, match="for plans"):
        session.quote(bp.Histogram("age"))
    remarks = session.release(bp.Histogram("age").by("zone"), epsilon=1).remarks()
    assert any("biased" in remark for remark in remarks)


BLOCKS = bp.PerAttribute(
    age=bp.Partition(widths={"age": 5}), sex=bp.FullDomain(), zone=bp.Public(), wage=bp.DistanceThreshold(5)
)


def test_a_mean_of_a_block_is_measured_with_its_count(table):
    session = opened(table, BLOCKS)
    young = session.release(bp.Mean("wage").where(age=(0, 4)).by("zone"), epsilon=20)
    assert problems(young.text) == []
    assert abs(young["n"].value - table[(table.age < 5) & (table.zone == "n")].wage.mean()) < 0.5
    assert young["n"].release.records is None
    counted = session.release(bp.Histogram("wage").where(age=(0, 4)), epsilon=1)
    assert counted.release.records == int((table.age < 5).sum())


def test_parts_without_secrets_are_exact_in_secret_groups_too(table):
    secrets = bp.ByValue("zone", {"n": bp.FullDomain(), "s": bp.Public(), "e": bp.Public()})
    session = opened(table, secrets)
    ages = session.release(bp.Histogram("age").by("zone", "sex"), epsilon=1)
    assert problems(ages.text) == []
    women = table[(table.zone == "s") & (table.sex == "F")]
    assert ages["s", "F"].counts.tolist() == np.bincount(women.age, minlength=10).tolist()
    assert ages["s", "F"].release.records == len(women)
    assert ages["n", "F"].release.records is None
    assert ages["n", "F"].error().rmse > 0
    means = session.release(bp.Mean("wage").by("zone", "sex"), epsilon=20)
    assert problems(means.text) == []
    assert abs(means["s", "F"].value - women.wage.mean()) < 1


@pytest.mark.parametrize("where", [{"x": (0, 6)}, {"g": ["a", "b"]}, {"x": (0, 6), "g": ["b", "a"]}], ids=str)
@pytest.mark.parametrize("size", ["known", 12])
def test_a_condition_that_all_records_meet_changes_nothing(where, size):
    domain = bp.Domain(x=bp.Integer(0, 6), g=bp.Categorical(["a", "b"]))
    counts = np.zeros(domain.shape, dtype=np.int64)
    counts[1:4] = 2
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain(), size=size), budget=1000)
    for query in (bp.Mean("x"), bp.Cumulative("x")):
        plain, selected = session.plan(query, epsilon=1), session.plan(query.where(where), epsilon=1)
        assert selected.records == plain.records == 12
        assert selected.mechanism.to_document() == plain.mechanism.to_document()
    assert session.release(bp.Mean("x").where(where), epsilon=100).value == pytest.approx(2, abs=0.3)
