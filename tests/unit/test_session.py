"""One way to the data: certify, charge, read, perturb, record, hand out."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.engines import Counts, open_engine
from blowfish_privacy.release import verification
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.testing.seeded import SeededSource

DOMAIN = bp.Domain(age=bp.Integer(0, 9), region=bp.Categorical(["N", "S"]))
POLICY = bp.Policy(DOMAIN, secrets=bp.PerAttribute(age=bp.DistanceThreshold(2), region=bp.Public()))
TABLE = pd.DataFrame({"age": [0, 1, 1, 5, 9, 9, 9], "region": list("NNSSNNS")})


class Spy:
    """An engine that notes when it is asked, and what the ledger held then."""

    def __init__(self, data, ledger_of):
        self.inner, self.ledger_of, self.seen, self.fail = open_engine(data), ledger_of, [], None

    @property
    def reads(self):
        return self.inner.reads

    def counts(self, *arguments, **options):
        self.seen.append(self.ledger_of().spent)
        if self.fail:
            raise self.fail
        return self.inner.counts(*arguments, **options)

    def tables(self, *arguments, **options):
        return iter(self.counts(*arguments, **options))

    def lattice_sums(self, *arguments, **options):
        self.seen.append(self.ledger_of().spent)
        return self.inner.lattice_sums(*arguments, **options)

    def assignments(self, *arguments, **options):
        return self.inner.assignments(*arguments, **options)

    def prepare(self, domain, names):
        self.inner.prepare(domain, names)

    def rows(self):
        self.seen.append("rows")
        return self.inner.rows()

    def check(self, domain):
        return self.inner.check(domain)

    def close(self):
        self.inner.close()


@pytest.fixture
def session(tmp_path):
    made = bp.Session(TABLE, POLICY, budget="1", ledger=tmp_path / "t.ledger", create=True)
    made._engine = Spy(TABLE, lambda: made.ledger)
    return made


def test_plans_read_nothing_and_spend_nothing(session):
    plan = session.plan(bp.Histogram("age"), epsilon="0.5")
    plan.explain(), plan.expected_error(), plan.plain_error()
    assert session.engine.seen == []
    assert session.remaining == 1
    assert plan.epsilon == Fraction(1, 2)
    assert plan.mechanism.scale == 4


def test_the_charge_stands_before_anything_is_read(session):
    session.release(bp.Histogram("age"), epsilon="0.25")
    assert session.engine.seen == [Fraction(1, 4)]
    assert session.remaining == Fraction(3, 4)


def test_a_mechanism_that_asks_twice_is_charged_once_and_before(session):
    result = session.release(bp.KMeans(["age"], k=2), epsilon="0.25", mechanism="soft-mesh")
    assert session.engine.seen == ["rows", Fraction(1, 4), Fraction(1, 4)]
    assert session.remaining == Fraction(3, 4)
    assert result.centers.shape == (2, 1)


def test_over_budget_reads_nothing(session):
    with pytest.raises(bp.BudgetError) as caught:
        session.release(bp.Histogram("age"), epsilon="1.5")
    assert session.engine.seen == []
    assert session.engine.reads == 0
    over = caught.value
    assert (over.requested, over.remaining, over.difference) == (Fraction(3, 2), 1, Fraction(1, 2))


def test_a_plan_released_again_gives_the_same_and_costs_nothing(session):
    plan = session.plan(bp.Histogram("age"), epsilon="0.5")
    first, second = session.release(plan), session.release(plan)
    assert first.text == second.text
    assert session.remaining == Fraction(1, 2)
    assert len(session.engine.seen) == 1


@pytest.mark.parametrize("asked", ["query", "plan", "parallel"])
def test_the_same_release_asked_for_again_costs_nothing_unless_it_is_to_be_new(session, asked):
    def release(name="release", **options):
        options = {"epsilon": "0.001", "name": name, **options}
        if asked == "plan":
            return session.release(session.plan(bp.Histogram("age"), **options)).text
        where = session if asked == "query" else session.parallel("region")
        return where.release(bp.Histogram("age"), **options).text

    first = release()
    assert release() == first
    assert session.remaining == 1 - Fraction(1, 1000)
    others = [release(new=True), release(new=True), release("other"), release(epsilon="0.002"), release(key="own")]
    assert len({first, *others}) == 6
    assert session.remaining == 1 - Fraction(7, 1000)
    assert release() == first
    with pytest.raises(bp.QueryError, match="new=True asks for another"):
        release(new=True, key="own")
    if asked == "parallel":
        assert release(epsilon={"N": "0.001"}) != first
        assert release(epsilon={"N": "0.001", "S": "0.003"}) != release(epsilon={"N": "0.001", "S": "0.002"})


def test_a_release_of_another_session_is_found_in_the_ledger_and_it_is_said(session, tmp_path):
    first = session.release(bp.Mean("age"), epsilon=1)
    again = bp.Session(TABLE, POLICY, ledger=tmp_path / "t.ledger")
    # Nothing is left, so the number of rows that the plan needs is asked for only because it may be a retry.
    with pytest.warns(bp.BlowfishWarning, match="from an earlier session.*new=True"):
        assert again.release(bp.Mean("age"), epsilon=1).text == first.text
    assert again.release(bp.Mean("age"), epsilon=1).text == first.text
    with pytest.raises(bp.BudgetError):
        again.release(bp.Mean("age"), epsilon=1, new=True)
    # Another name of the data, another policy: another release.
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    other = bp.Policy(DOMAIN, secrets=bp.FullDomain())
    for made in (
        bp.Session(tmp_path / "t.csv", POLICY, ledger=session.ledger),
        bp.Session(TABLE, other, ledger=session.ledger),
    ):
        with pytest.raises(bp.BudgetError):
            made.release(bp.Mean("age"), epsilon=1)


def test_a_key_tells_nothing_of_the_data(session):
    others = pd.DataFrame({"age": [3] * 7, "region": list("SSSSSSN")})
    keys = {
        bp.Session(data, POLICY, budget=1).plan(bp.Histogram("age"), epsilon=1).key
        for data in (TABLE, others, others.head(2), Counts(np.ones((10, 2), dtype=int)))
    }
    assert len(keys) == 1


def test_a_failure_after_the_charge_costs_once(session):
    plan = session.plan(bp.Histogram("age"), epsilon="0.5")
    session.engine.fail = bp.DataError("the engine stopped.")
    with pytest.raises(bp.DataError, match=r"stopped\. Its cost, 0\.5, was charged \(entry 1 of .*\) and stays"):
        session.release(plan)
    assert session.remaining == Fraction(1, 2)
    session.engine.fail = None
    assert session.release(plan).counts.shape == (10,)
    assert session.remaining == Fraction(1, 2)


def test_what_was_charged_is_said_whatever_goes_wrong_after_it(session, monkeypatch):
    session.engine.fail = bp.DataError("the engine stopped.")
    with pytest.raises(bp.DataError, match="Its cost, 0.25, was charged .* the same release costs nothing more"):
        session.release(bp.Histogram("age"), epsilon="0.25")
    with pytest.raises(bp.DataError, match="Its cost, 0.5, was charged"):
        session.parallel("region").release(bp.Histogram("age"), epsilon={"N": "0.1", "S": "0.5"})
    with pytest.raises(bp.DataError, match="stopped. Nothing was charged"):
        session.release(bp.Histogram("region"), epsilon="0.25")
    session.engine.fail = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as caught:
        session.release(bp.Histogram("age"), epsilon="0.25")
    assert "Its cost, 0.25, was charged" in caught.value.__notes__[0]
    session.engine.fail = None
    with monkeypatch.context() as patched:
        patched.setattr(session.ledger, "_writing", lambda: (_ for _ in ()).throw(bp.LedgerError("the disk is full.")))
        with pytest.raises(bp.LedgerError, match="full. Its cost, 0.25, was charged"):
            session.release(bp.Histogram("age"), epsilon="0.25")
    session.release(bp.Histogram("age"), epsilon="0.25")
    session.parallel("region").release(bp.Histogram("age"), epsilon={"N": "0.1", "S": "0.5"})
    assert session.remaining == Fraction(1, 4)


def test_a_key_cannot_be_used_for_something_else(session):
    session.release(bp.Histogram("age"), epsilon="0.1", key="k")
    with pytest.raises(bp.LedgerError, match="used for a different release"):
        session.release(bp.Sum("age"), epsilon="0.1", key="k")
    with pytest.raises(bp.LedgerError, match="used for a different release"):
        session.release(bp.Histogram("age"), epsilon="0.2", key="k")


def test_ten_tenths_fit_a_budget_of_one(session):
    for _ in range(10):
        session.release(bp.Histogram("age"), epsilon=0.1, new=True)
    assert session.remaining == 0
    with pytest.raises(bp.BudgetError):
        session.release(bp.Histogram("age"), epsilon="1e-9")


def test_a_tampered_plan_is_not_released(session):
    from dataclasses import replace

    plan = session.plan(bp.Histogram("age"), epsilon="0.5")
    weaker = replace(plan, mechanism=replace(plan.mechanism, scale=plan.mechanism.scale / 2))
    with pytest.raises(bp.PolicyError, match="not the one its mechanism proves"):
        session.release(weaker)
    assert session.remaining == 1
    other = bp.Policy(DOMAIN, secrets=bp.FullDomain())
    with pytest.raises(bp.PolicyError, match="a different policy"):
        session.release(replace(plan, policy=other))
    with pytest.raises(bp.QueryError, match="options already"):
        session.release(plan, epsilon=1)


def test_epsilon_is_solved_for_a_wanted_error(session):
    plan = session.plan(bp.Histogram("age"), error=25)
    assert plan.expected_error().rmse <= 25
    step = Fraction(1, 10 ** (2 - int(np.floor(np.log10(float(plan.epsilon))))))
    slightly_less = session.plan(bp.Histogram("age"), epsilon=plan.epsilon - step)
    assert slightly_less.expected_error().rmse > 25
    wide = bp.Policy(bp.Domain(v=bp.Integer(0, 10**9)), secrets=bp.FullDomain())
    with pytest.raises(bp.RefusalError, match="no amount up to a million"):
        bp.Session("unread.csv", wide, budget=1).plan(bp.Sum("v"), error="0.001")
    for options in ({}, {"epsilon": 1, "error": 1}):
        with pytest.raises(bp.QueryError, match="one of epsilon, rho and error"):
            session.plan(bp.Histogram("age"), **options)
    for amount in (0, -1, "x", float("nan")):
        with pytest.raises(bp.QueryError):
            session.plan(bp.Histogram("age"), epsilon=amount)


def test_what_the_policy_makes_public_is_exact_and_says_so(session):
    plan = session.plan(bp.Histogram("region"), epsilon="0.5")
    assert plan.epsilon == 0
    assert "NO NOISE" in plan.explain()
    result = session.release(plan)
    assert result.counts.tolist() == [4, 3]
    assert "NO NOISE" in result.notices[0]
    assert session.remaining == 1


@pytest.mark.parametrize(("records", "said"), [(None, "not known here"), (0, "mean of no records")])
def test_a_mean_needs_the_number_of_records(session, records, said):
    with pytest.raises(bp.RefusalError, match=said):
        make_plan(bp.Mean("age"), session.policy, epsilon=1, records=records)


def test_a_mean_asks_for_the_number_of_rows_alone(session):
    plan = session.plan(bp.Mean("age"), epsilon="0.5")
    assert session.engine.seen == ["rows"]
    assert "Nothing else was read from the data" in plan.explain()
    assert plan.expected_error().unit == Fraction(1, 7)
    assert session.release(plan).error().unit == Fraction(1, 7)


def test_stated_sizes_are_believed_and_checked():
    stated = bp.Policy(DOMAIN, secrets=bp.FullDomain(), size=7)
    assert bp.Session(TABLE, stated, budget=9).release(bp.Histogram("age"), epsilon=1).consistent().sum() == 7
    wrong = bp.Policy(DOMAIN, secrets=bp.FullDomain(), size=8)
    with pytest.raises(bp.DataError, match="does not match the one that the policy states") as caught:
        bp.Session(TABLE, wrong, budget=9).release(bp.Histogram("age"), epsilon=1)
    assert "7" not in str(caught.value)


def test_an_unknown_size_stays_unknown():
    policy = bp.Policy(DOMAIN, secrets=bp.FullDomain(), size="unknown")
    made = bp.Session(TABLE, policy, budget=9)
    result = made.release(bp.Histogram("age"), epsilon=1)
    assert json.loads(result.text)["records"] is None
    assert result.header == ["age", "count", "typical_error"]
    with pytest.raises(bp.RefusalError, match="not public"):
        result.consistent()
    assert json.loads(made.release(bp.Mean("age"), epsilon=1).text)["records"] is None


def test_parallel_releases_cost_the_largest(session):
    parts = session.parallel("region").release(bp.Histogram("age"), epsilon={"N": "0.2", "S": "0.5"})
    assert session.remaining == Fraction(1, 2)
    assert {value: part.certificate.epsilon for value, part in parts.items()} == {
        "N": Fraction(1, 5),
        "S": Fraction(1, 2),
    }
    assert parts["N"].release.records == 4
    assert parts["S"].consistent().sum() == 3
    assert verification.problems(parts.text) == []
    assert dict(results.from_text(parts.text))["N"].values.tolist() == parts["N"].values.tolist()
    everywhere = session.parallel("region").release(bp.Sum("age"), epsilon="0.1", key="again")
    assert list(everywhere) == ["N", "S"]
    assert session.parallel("region").release(bp.Sum("age"), epsilon="0.1", key="again").text == everywhere.text
    assert session.remaining == Fraction(4, 10)


def test_parallel_is_refused_where_it_would_not_hold(session):
    with pytest.raises(bp.BlowfishError, match="age"):
        session.parallel("age")
    with pytest.raises(bp.DomainError, match="did you mean 'region'"):
        session.parallel("regions")
    with pytest.raises(bp.QueryError, match="same within each group"):
        session.parallel("region").release(bp.Histogram("region"), epsilon=1)
    with pytest.raises(bp.QueryError, match="kmeans of some records"):
        session.parallel("region").release(bp.KMeans(["age"], k=2), epsilon=1)
    with pytest.raises(bp.DomainError):
        session.parallel("region").release(bp.Histogram("age"), epsilon={"W": 1})
    assert session.remaining == 1


def test_losses_of_pairs_add_up_across_releases(session):
    session.release(bp.Histogram("age"), epsilon="0.25")
    session.release(bp.Sum("age"), epsilon="0.5")
    assert session.ledger.loss({"age": 1}, {"age": 3}) == Fraction(3, 4)
    assert session.ledger.loss({"age": 1}, {"age": 9}) == 4 * Fraction(3, 4)
    assert session.ledger.loss({"region": "N"}, {"region": "S"}) == float("inf")


def test_seeded_noise_taints_the_release():
    made = bp.Session(TABLE, POLICY, budget=1, source=SeededSource(7))
    result = made.release(bp.Histogram("age"), epsilon="0.5")
    assert any("NOT PRIVATE" in notice for notice in result.notices)
    assert json.loads(result.text)["randomness"] == "seeded, not private"


def test_counts_someone_already_has(tmp_path):
    counts = np.zeros((10, 2), dtype=np.int64)
    counts[3, 1] = 40
    result = bp.Session(Counts(counts), POLICY, budget=10).release(bp.Histogram("age"), epsilon=10)
    assert abs(result.counts[3] - 40) < 20
    for draw in ("age", "region"):
        bp.Session(Counts(counts), POLICY, budget=10).release(bp.Histogram(draw), epsilon=1).plot(tmp_path / "x.png")
        assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_every_kind_of_release_has_a_table_a_picture_and_a_file(session, tmp_path):
    queries = [
        bp.Histogram("age"),
        bp.Histogram("age", "region"),
        bp.Cumulative("age"),
        bp.Sum("age"),
        bp.Mean("age"),
        bp.Linear(lambda age: [age / 2, age > 5], ["age"]),
    ]
    for place, query in enumerate(queries):
        result = session.release(query, epsilon="0.1", name=f"r{place}")
        frame = result.to_frame()
        assert list(frame.columns) == result.header
        result.to_csv(tmp_path / "t.csv")
        assert len((tmp_path / "t.csv").read_text().splitlines()) == len(frame) + 1
        result.plot(tmp_path / "t.png")
        assert (tmp_path / "t.png").stat().st_size > 5000
        result.save(tmp_path / "t.release.json")
        again = bp.load(tmp_path / "t.release.json")
        assert again.values.tolist() == result.values.tolist()
        assert again.certificate == result.certificate
        assert verification.problems((tmp_path / "t.release.json").read_text()) == []
        assert not list(tmp_path.glob(".*part*"))


def test_a_package_that_is_missing_is_named_before_anything_is_charged(session, monkeypatch):
    frame = pd.DataFrame({"age": [1, 2], "region": ["N", "N"]})
    result = session.release(bp.Sum("age"), epsilon="0.1")
    fresh = bp.Session(frame, POLICY, budget=1)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(bp.DataError, match="pip install pandas pyarrow"):
        fresh.release(bp.Sum("age"), epsilon="0.1")
    assert fresh.remaining == 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(bp.SpecError, match="pip install pandas"):
        result.to_frame()


def test_sessions_need_a_policy_and_a_budget(tmp_path):
    with pytest.raises(bp.PolicyError, match="needs a Policy"):
        bp.Session(TABLE, "full", budget=1)
    with pytest.raises(bp.LedgerError, match="needs a budget"):
        bp.Session(TABLE, POLICY)
    with pytest.raises(bp.LedgerError):
        bp.Session(TABLE, POLICY, budget=0)
    bp.Session(TABLE, POLICY, budget=1, ledger=tmp_path / "l", create=True)
    with pytest.raises(bp.LedgerError):
        bp.Session(TABLE, POLICY, budget=2, ledger=tmp_path / "l")


def test_parts_of_a_plan_that_do_not_belong_together_are_refused_before_any_charge():
    from dataclasses import replace

    domain = bp.Domain(region=bp.Categorical(["N", "S"]), ill=bp.Categorical(["no", "yes"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(region=bp.Public(), ill=bp.FullDomain()))
    made = bp.Session(Counts([[500, 3], [480, 17]]), policy, budget=1)
    free = made.plan(bp.Histogram("region"), epsilon="0.1")
    with pytest.raises(bp.PolicyError, match="certifies nothing|not the one its mechanism proves"):
        made.release(replace(free, query=bp.Histogram("ill"), key="k"))
    cheap = replace(made.plan(bp.Histogram("ill"), epsilon="0.5"), query=bp.Linear([[0, 1000]], ["ill"]))
    with pytest.raises(bp.BlowfishError):
        made.release(cheap)
    assert made.remaining == 1
    assert made.ledger.entries() == ()
    groups = made.plan(bp.Histogram("ill").by("region"), epsilon="0.5")
    with pytest.warns(bp.BlowfishWarning):
        public = bp.Policy(domain, secrets=bp.Public())
    free = bp.Session(Counts([[1, 1], [1, 1]]), public, budget=1).plan(bp.Histogram("ill").by("region"), epsilon="0.5")
    dear = made.plan(bp.Histogram("ill").by("region"), epsilon=5)
    for parts in (free.parts, dear.parts, {(0,): groups.parts[0,], (1,): dear.parts[1,]}):
        with pytest.raises(bp.PolicyError, match="certifies nothing|not the one its (mechanism|groups) prove"):
            made.release(replace(groups, parts=parts))
    assert made.remaining == 1


def test_what_can_be_known_before_the_charge_is_found_before_it(tmp_path):
    (tmp_path / "t.csv").write_text("age\n1\n")
    made = bp.Session(tmp_path / "t.csv", POLICY, budget=1)
    with pytest.raises(bp.DataError, match="region"):
        made.release(bp.Histogram("region"), epsilon=1)
    wrong_shape = bp.Session(Counts([1, 2]), POLICY, budget=1)
    with pytest.raises(bp.DataError, match="shape"):
        wrong_shape.release(bp.Histogram("age"), epsilon=1)
    wide = bp.Policy(bp.Domain(v=bp.Integer(0, 2**40)), secrets=bp.FullDomain())
    too_large = bp.Session(pd.DataFrame({"v": [1]}), wide, budget=1)
    with pytest.raises(bp.BlowfishError, match="too large"):
        too_large.release(bp.Sum("v"), epsilon=1)
    assert made.remaining == wrong_shape.remaining == too_large.remaining == 1


def test_a_secret_number_of_records_cannot_be_found_by_overflow():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 1)), secrets=bp.FullDomain(), size="unknown")
    made = bp.Session(Counts([0, 2048]), policy, budget=10)
    with pytest.raises(bp.RefusalError, match="secret number of records"):
        made.plan(bp.Linear([[2**40, 0]] * 1024, ["v"]), epsilon=1)


def test_edges_given_as_tuples_survive_the_document():
    domain = bp.Domain(z=bp.Integer(0, 1), a=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.ExplicitGraph([((0, 0), (0, 1))]))
    result = bp.Session(Counts([[5, 6], [7, 8]]), policy, budget=10).release(bp.Histogram("a"), epsilon=1)
    assert result.certificate.epsilon == 1
    assert verification.problems(result.text) == []


def test_growing_data_make_a_new_plan_and_not_an_endless_failure(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("age,region\n" + "1,N\n" * 10)
    made = bp.Session(file, POLICY, budget=10)
    old = made.plan(bp.Mean("age"), epsilon=1)
    file.write_text("age,region\n" + "1,N\n" * 11)
    with pytest.raises(bp.DataError, match="plan was made for"):
        made.release(old)
    assert made.release(bp.Mean("age"), epsilon=1).error().unit == Fraction(1, 11)


def test_a_ledger_object_keeps_its_own_budget(tmp_path):
    shared = bp.Session(TABLE, POLICY, budget=100, ledger=tmp_path / "l", create=True).ledger
    with pytest.raises(bp.LedgerError, match="budget of 100, not of 0.1"):
        bp.Session(TABLE, POLICY, budget="0.1", ledger=shared)
    assert bp.Session(TABLE, POLICY, ledger=shared).remaining == 100


def test_an_error_after_reading_shows_no_counts_in_its_traceback():
    import traceback

    wrong = bp.Policy(DOMAIN, secrets=bp.FullDomain(), size=8)
    try:
        bp.Session(TABLE, wrong, budget=9).release(bp.Histogram("age"), epsilon=1)
    except bp.DataError as error:
        stack = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert error.__context__ is None
        assert error.__cause__ is None
    shown = "".join(stack.format())
    assert "counts = " not in shown
    assert "array(" not in shown


def test_parallel_results_have_tables_and_pictures_too(session, tmp_path):
    parts = session.parallel("region").release(bp.Histogram("age"), epsilon="0.5")
    assert parts.certificate.epsilon == Fraction(1, 2)
    assert parts.notices == []
    assert len(parts.to_frame()) == 20
    parts.to_csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().startswith("region,age,count")
    parts.plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 5000


def test_dollar_signs_are_not_formulas(tmp_path):
    domain = bp.Domain({"in $": bp.Categorical(["$10_$", "$20^", "x"])})
    made = bp.Session(Counts([1, 2, 3]), bp.Policy(domain, secrets=bp.FullDomain()), budget=10)
    made.release(bp.Histogram("in $"), epsilon=1, name="$x^$").plot(tmp_path / "x.png")


def test_a_person_of_several_rows_loses_in_groups(tmp_path):
    triple = bp.Policy(DOMAIN, secrets=bp.FullDomain(), rows_per_person=3)
    single = bp.Policy(DOMAIN, secrets=bp.FullDomain())
    ledger = bp.Session(TABLE, triple, budget=10, ledger=tmp_path / "l", create=True).ledger
    bp.Session(TABLE, triple, ledger=ledger).release(bp.Histogram("age"), epsilon=1)
    bp.Session(TABLE, single, ledger=ledger).release(bp.Histogram("age"), epsilon=1)
    assert ledger.spent == 4
    assert ledger.loss({"age": 1}, {"age": 2}) == 4


def test_a_session_makes_a_ledger_only_when_it_is_told_to(tmp_path):
    place = tmp_path / "l"
    with pytest.raises(bp.LedgerError, match=r"there is no ledger l in .* blowfish ledger create .* create=True"):
        bp.Session(TABLE, POLICY, budget=1, ledger=place)
    with pytest.raises(bp.LedgerError, match="a new ledger needs a budget"):
        bp.Session(TABLE, POLICY, ledger=place, create=True)
    with pytest.raises(bp.LedgerError, match="that a path or an address names"):
        bp.Session(TABLE, POLICY, budget=1, create=True)
    assert not place.exists()
    made = bp.Session(TABLE, POLICY, budget=1, ledger=place, create=True)
    made.release(bp.Histogram("age"), epsilon="0.5")
    with pytest.raises(bp.LedgerError, match=r"l already exists\. Hint: open an existing ledger without create"):
        bp.Session(TABLE, POLICY, budget=1, ledger=place, create=True)
    with pytest.raises(bp.LedgerError, match="that a path or an address names"):
        bp.Session(TABLE, POLICY, ledger=made.ledger, create=True)
    assert bp.Session(TABLE, POLICY, budget=1, ledger=place).remaining == Fraction(1, 2)
    # Gone, it does not come back with a full budget.
    place.unlink()
    with pytest.raises(bp.LedgerError, match="there is no ledger"):
        bp.Session(TABLE, POLICY, budget=1, ledger=place)
    with pytest.raises(bp.LedgerError, match="there is no ledger"):
        made.release(bp.Histogram("age"), epsilon="0.5")
