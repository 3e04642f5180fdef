"""A policy per person, by hand: files, words, what equals it, and unions, which are what is left without the column."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from math import inf
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_lab.audit import known_facts
from blowfish_privacy.cli import main
from blowfish_privacy.domain import Subset
from blowfish_privacy.graphs import by_value
from blowfish_privacy.graphs.by_value import ByValueGraph, UnionGraph
from blowfish_privacy.graphs.graph import differing, steps_covering
from blowfish_privacy.release import spec, verification
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown
from blowfish_privacy.testing.oracle import hops_by_search
from blowfish_privacy.testing.strategies import domains, secrets
from effort import examples

CONSENT = bp.Categorical(["strict", "open", "near"])
PEOPLE = bp.Domain(age=bp.Integer(17, 90), consent=CONSENT, wage=bp.Integer(0, 200))
NEAR = bp.PerAttribute(age=bp.DistanceThreshold(5), wage=bp.DistanceThreshold(20))
CHOSEN = bp.ByValue("consent", {"strict": bp.FullDomain(), "open": bp.Public(), "near": NEAR})
POLICY = bp.Policy(PEOPLE, secrets=CHOSEN)


def alike(part, consent=CONSENT):
    return bp.ByValue("consent", dict.fromkeys(consent.categories, part))


def person(consent, age=30, wage=50):
    return {"age": age, "consent": consent, "wage": wage}


def test_everybody_has_the_steps_of_their_own_graph():
    assert POLICY.distance(person("strict"), person("strict", 90, 0)) == 1
    assert POLICY.distance(person("near"), person("near", 36, 40)) == 3
    assert POLICY.distance(person("open"), person("open", 31)) == inf
    assert POLICY.distance(person("strict"), person("near")) == inf
    assert POLICY.distance(person("open"), person("open")) == 0


def test_the_furthest_values_of_a_part_need_not_be_the_first_and_the_last():
    names = {"way": bp.Categorical(["a", "b", "c"]), "same": bp.Integer(0, 0), "zone": bp.Categorical(["full", "path"])}
    domain = bp.Domain(names)
    a, b, c = ({"way": way, "same": 0} for way in "abc")
    path = bp.ExplicitGraph([(a, b), (a, c)])
    graph = bp.Policy(domain, secrets=bp.ByValue("zone", {"full": bp.FullDomain(), "path": path})).graph
    assert graph.hops(*graph.furthest()) == 2


def test_a_query_that_cannot_tell_who_chose_what_must_hide_what_any_part_keeps_secret():
    # Without the column the strict part has every pair of the others.
    assert bp.sensitivity(bp.Sum("wage"), POLICY).value == 200
    assert bp.sensitivity(bp.Histogram("consent"), POLICY).value == 0
    lenient = bp.Policy(PEOPLE, secrets=bp.ByValue("consent", {**CHOSEN.secrets, "strict": bp.Public()}))
    assert bp.sensitivity(bp.Sum("wage"), lenient).value == 20
    assert bp.sensitivity(bp.Cumulative("age"), lenient).value == 5


def test_what_is_said():
    text = POLICY.explain()
    for sentence in (
        "Where “consent” is strict: every two records are a secret pair, whatever their “age” and “wage”.",
        "Where “consent” is near: “age”: values at most 5 apart are secret pairs, such as 17 and 22",
        "Where “consent” is open: “age” and “wage”: not protected at all.",
        "“consent”: not protected at all. Releases may show exactly who has which, and with it who is protected how",
    ):
        assert sentence in text


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (alike(NEAR), bp.PerAttribute(age=bp.DistanceThreshold(5), consent=bp.Public(), wage=bp.DistanceThreshold(20))),
        (alike(bp.Attributes()), bp.PerAttribute(age=bp.FullDomain(), consent=bp.Public(), wage=bp.FullDomain())),
        (alike(bp.FullDomain()), bp.Partition(blocks={"consent": [["strict"], ["open"], ["near"]]})),
        (
            alike(bp.Partition(widths={"age": 10})),
            bp.Partition(blocks={"consent": [["strict"], ["open"], ["near"]]}, widths={"age": 10}),
        ),
        # Equal, though written in another way.
        (
            bp.ByValue("consent", {**alike(bp.FullDomain()).secrets, "open": bp.DistanceThreshold(999)}),
            bp.Partition(blocks={"consent": [["strict"], ["open"], ["near"]]}),
        ),
        (
            bp.ByValue("consent", {"open": bp.Public(), "near": NEAR, "strict": bp.DistanceThreshold(1000)}),
            CHOSEN,
        ),
    ],
)  # fmt: skip
def test_what_is_the_same_has_the_same_hash(written, same):
    assert bp.Policy(PEOPLE, secrets=written).hash == bp.Policy(PEOPLE, secrets=same).hash


def test_the_order_of_declarations_does_not_change_the_hash():
    turned = bp.Domain(
        wage=bp.Integer(0, 200), age=bp.Integer(17, 90), consent=bp.Categorical(["near", "strict", "open"])
    )
    assert bp.Policy(turned, secrets=CHOSEN).hash == POLICY.hash
    with pytest.warns(bp.BlowfishWarning):
        assert bp.Policy(PEOPLE, secrets=alike(bp.Public())).graph.canonical() == "public"


FILE = """
version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    # A value may be called like a keyword.
    consent: {categorical: [public, full]}
    level: {categorical: [1, 2]}
    adult: {categorical: [true, false]}
  secrets:
    by: consent
    public: public
    full: {by: level, 1: attributes, 2: {by: adult, true: {threshold: 3}, false: full}}
"""


def test_files_and_documents():
    policy = spec.loads(FILE).policy
    record = {"consent": "full", "level": 2, "adult": True}
    assert policy.distance({"age": 20, **record}, {"age": 26, **record}) == 2
    assert policy.distance({"age": 20, **record}, {"age": 20, **record, "adult": False}) == inf
    for again in (spec.loads(spec.dumps(policy)).policy, pickle.loads(pickle.dumps(policy))):
        assert again == policy
        assert again.hash == policy.hash
        assert hash(again.secrets) == hash(policy.secrets)
    counts = np.ones(policy.domain.shape, dtype=np.int64)
    result = bp.Session(bp.Counts(counts), policy, budget=1).release(bp.Histogram("age"), epsilon=1)
    assert json.loads(result.text)["policy"]["secrets"]["full"]["by"] == "level"
    assert verification.problems(result.text) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("by: consent", "by: consnt", "policy.secrets: unknown attribute 'consnt'. Hint: did you mean 'consent'"),
        ("by: consent", "by: 5", "policy.secrets.by must be the name of an attribute, got 5"),
        ("public: public\n", "publik: public\n", "consent: 'publik' is not .* did you mean 'public'"),
        ("    public: public\n", "", "no entry for consent 'public'. Hint: name every value"),
        ("1: attributes", "'1': full, 1: full", "policy.secrets.full: two keys are written alike"),
        ("1: attributes", "1: [full]", "policy.secrets.full.1 must be a choice of secrets"),
        ("true: {threshold: 3}", "true: {threshold: -3}", "consent full: level 2: adult true: .*above 0"),
        ("{threshold: 3}", "{per_attribute: {adult: full}}", "adult true: unknown attribute 'adult'"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(old, new, said):
    assert old in FILE
    with pytest.raises(bp.BlowfishError, match=said):
        spec.loads(FILE.replace(old, new))


def test_mistakes_in_python():
    for wrong, said in (
        (lambda: bp.ByValue(5, {}), "named by text"),
        (lambda: bp.ByValue("consent", {}), "must map the values of consent"),
        (lambda: bp.ByValue("consent", {"open": "public"}), "must be a graph"),
        (lambda: bp.ByValue("consent", {"by": bp.Public()}), 'a value called "by"'),
        (lambda: bp.ByValue("consnt", {"open": bp.Public()}).on(PEOPLE), "did you mean 'consent'"),
        (lambda: bp.ByValue("consent", {"open": bp.Public()}).on(PEOPLE), "no entry for consent 'strict'"),
        (lambda: alike(bp.Attributes()).on(bp.Domain(consent=CONSENT)), "no attribute besides consent"),
        (lambda: alike(bp.Partition(widths={"x": 1})).on(PEOPLE), "consent strict: .*unknown attribute 'x'"),
        (lambda: bp.ByValue("age", {17: NEAR, np.int64(17): NEAR}).on(PEOPLE), "no entry for age '18'"),
    ):
        with pytest.raises(bp.PolicyError, match=said):
            wrong()
    bins = bp.Domain(wage=bp.Binned([0, 10, 20]), x=bp.Integer(0, 1))
    with pytest.raises(bp.PolicyError, match=r"wage \[0, 10\) has secrets twice"):
        bp.ByValue("wage", {1: bp.FullDomain(), 2: bp.FullDomain()}).on(bins)
    chosen = bp.ByValue("wage", {bp.Bin(0, 10): bp.FullDomain(), 15: bp.Public()})
    policy = bp.Policy(bins, secrets=chosen)
    assert spec.loads(spec.dumps(policy)).policy.hash == policy.hash


def test_a_large_column_that_is_not_named_in_full_is_refused_at_once():
    text = FILE.replace("by: consent", "by: age").replace("{integer: [17, 90]}", "{integer: [0, 2000000000000]}")
    start = process_time()
    with pytest.raises(bp.BlowfishError, match="no entry for age '0'"):
        spec.loads(text)
    assert process_time() - start < 1


def test_records_of_one_value_are_governed_by_its_graph_alone():
    domain = PEOPLE
    for position, value in enumerate(CONSENT.categories):
        inside = CHOSEN.within(domain, {"consent": Subset.of([position])}).on(domain)
        own = CHOSEN.secrets[value].on(domain.project(["age", "wage"]))
        assert inside.project(["age", "wage"]).canonical() == own.canonical()
        assert not inside.changes("consent")
        assert not isinstance(inside, ByValueGraph)
    both = CHOSEN.within(domain, {"consent": Subset.of([0, 2]), "age": Subset.of([0])}).on(domain)
    for consent in ("strict", "near"):
        ends = [domain.cell(person(consent, 20)), domain.cell(person(consent, 24))]
        assert both.hops(*ends) == POLICY.graph.hops(*ends)
    assert bp.FullDomain().within(domain, {}) == bp.FullDomain()


def test_each_part_gets_the_noise_of_its_own_graph_and_a_part_without_secrets_none():
    counts = np.ones(PEOPLE.shape, dtype=np.int64)
    session = bp.Session(bp.Counts(counts), POLICY, budget=10)
    plan = session.plan(bp.Sum("wage").by("consent"), epsilon="0.5")
    # 200 and 20 over 0.5: the longest move of the strict and of the near; nobody else has a secret.
    assert [part.mechanism.scale for part in plan.parts.values()] == [400, 0, 40]
    assert [part.epsilon for part in plan.parts.values()] == [Fraction(1, 2), 0, Fraction(1, 2)]
    result = session.release(plan)
    assert result["open"].value == counts[:, 1].sum(axis=0) @ np.arange(201)
    assert verification.problems(result.text) == []
    # The parts have no secret pair in common.
    assert session.remaining == Fraction(19, 2)
    exact = session.release(bp.Histogram("wage").where(consent="open", age=(17, 20)), epsilon="0.5")
    assert exact.counts.tolist() == [4] * 201
    assert "NO NOISE" in exact.notices[0]
    assert session.remaining == Fraction(19, 2)
    session.release(bp.Histogram("wage").where(consent="near", age=(17, 20)), epsilon="0.5")
    assert session.remaining == 9


def test_groups_that_are_published_exactly_are_named_and_no_others(tmp_path, capsys):
    session = bp.Session(bp.Counts(np.ones(PEOPLE.shape, dtype=np.int64)), POLICY, budget=10)
    plan = session.plan(bp.Sum("wage").by("consent"), epsilon="0.5", name="wages")
    warned = "NO NOISE for “consent” open: under this policy nothing in this answer about “wage” is secret, so it will"
    assert [notice for notice in plan.notices if "NO NOISE" in notice] == [plan.notices[0]]
    assert plan.notices[0].startswith(warned)
    assert f"! {warned}" in plan.explain()
    result = session.release(plan)
    told = [notice for notice in result.notices if "NO NOISE" in notice]
    assert len(told) == 1
    assert told[0].startswith(warned)
    published = f"{warned.removesuffix('will')}is published exactly."
    result.save(tmp_path / "wages.release.json")
    assert main.run(["verify", str(tmp_path / "wages.release.json")]) == 0
    assert f"Notice: {published}" in capsys.readouterr().out
    for text in (markdown(make_card(result.text)), markdown(session.card())):
        assert published in text.partition("## What is not protected")[2]
        assert text.count("NO NOISE") == 1
        assert "scale 0," not in text
        assert "For “consent” open (epsilon 0): None: the numbers are the exact ones." in text
    assert "Some groups are published exactly" in make_card(result.text).summary
    # Where no group has noise, it is said of the release.
    every = session.plan(bp.Sum("wage").where(consent="open").by("consent"), epsilon="0.5")
    assert every.notices[0].startswith("NO NOISE: under")


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_inside_a_box_the_secret_pairs_stay(data):
    domain = data.draw(domains(30, 3, bp.ByValue))
    chosen = data.draw(secrets(domain, bp.ByValue))
    names = data.draw(st.sets(st.sampled_from(domain.names)))
    box = {name: Subset.of(data.draw(st.sets(st.integers(0, domain[name].size - 1), min_size=1))) for name in names}
    whole, part = chosen.on(domain), chosen.within(domain, box).on(domain)
    inside = [cell for cell in domain.cells() if all(cell[domain.axis(name)] in box[name] for name in box)]
    for x in inside:
        for y in inside:
            assert whole.adjacent(x, y) == part.adjacent(x, y)


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_a_union_is_what_its_graphs_have_together(data):
    domain = data.draw(domains(24, 3))
    graphs = [data.draw(secrets(domain)).on(domain) for _ in range(data.draw(st.integers(1, 3)))]
    graph = UnionGraph(domain, tuple(graphs))
    edges = {frozenset(edge) for each in graphs for edge in each.edges()}
    assert {frozenset(edge) for edge in graph.edges()} == edges
    assert {frozenset(edge) for edge in by_value.union(graphs).edges()} == edges
    pairs = [tuple(sorted(edge)) for edge in edges]
    for axis, name in enumerate(domain.names):
        moves = [abs(x[axis] - y[axis]) for x, y in pairs]
        assert graph.largest_move(name) == max(moves, default=0)
        half = Subset.span(0, domain[name].size // 2)
        rest = Subset.span(domain[name].size // 2, domain[name].size)
        joined = graph.joins(name, half, rest)
        assert (joined is not None) == any((x[axis] in half) != (y[axis] in half) for x, y in pairs)
        for run in graph.stretches(name):
            for start in range(run.start, run.stop, run.width):
                home = range(start, start + run.width)
                inside = [pair for pair in pairs if pair[0][axis] in home]
                assert all(y[axis] in home and abs(x[axis] - y[axis]) <= run.reach for x, y in inside)
        single = {frozenset(((x[axis],), (y[axis],))) for x, y in pairs if x[axis] != y[axis]}
        assert {frozenset(edge) for edge in graph.project([name]).edges()} == single
        kept = graph.changing(name)
        assert all(kept.adjacent(*pair) for pair in pairs if differing(*pair) == [axis])
    prices = [data.draw(st.integers(0, 5)) for _ in domain.names]
    costs = [sum(p * abs(a - b) for p, a, b in zip(prices, x, y, strict=True)) for x, y in pairs]
    assert graph.longest_move(prices) >= max(costs, default=0)
    assert graph.one_at_a_time <= all(len(differing(*pair)) == 1 for pair in pairs)
    connected = True
    for x in domain.cells():
        for y, hops in hops_by_search(graph, x).items():
            assert graph.hops(x, y) >= hops
            assert (graph.component(x) == graph.component(y)) == (hops < inf)
            connected = connected and hops < inf
    assert graph.connected == connected
    assert bool(graph.words().unprotected) == (not connected and domain.size > 1)
    if graph.homogeneous:
        for axis, name in enumerate(domain.names):
            for (a,), (b,) in graph.project([name]).edges():
                fixed = ((*c[:axis], a, *c[axis + 1 :]) for c in domain.cells())
                assert all(graph.adjacent(c, (*c[:axis], b, *c[axis + 1 :])) for c in fixed)


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_how_many_steps_an_edge_of_another_policy_takes(data):
    domain = data.draw(domains(20, 3, bp.ByValue))
    one, other = data.draw(st.permutations([data.draw(secrets(domain, bp.ByValue)), data.draw(secrets(domain))]))
    base, graph = one.on(domain), other.on(domain)
    true = max((hops_by_search(graph, x)[y] for x, y in base.edges()), default=1)
    assert steps_covering(base, graph) == true
    if graph.covers(base):
        assert true == 1
    with pytest.MonkeyPatch.context() as patch:
        # As on a domain too large to list its edges.
        patch.setattr("blowfish_privacy.graphs.graph._MOST_EDGES", -1)
        bound = steps_covering(base, graph)
    assert bound is None or bound >= true


@pytest.mark.parametrize("records", [3, 4])
def test_known_facts_where_secret_pairs_depend_on_other_attributes_and_are_not_listed(records):
    # Pairs that change a0 exist for some values of a2 only: one that is lifted to another value is none.
    domain = bp.Domain({f"a{n}": bp.Integer(0, 1) for n in range(3)})
    inner = {
        0: bp.ByValue("a0", {0: bp.Public(), 1: bp.FullDomain()}),
        1: bp.ByValue("a1", {0: bp.FullDomain(), 1: bp.Public()}),
    }
    for known in (
        [bp.KnownMarginal("a1", "a0")],
        [bp.KnownMarginal("a0"), bp.KnownCount({"a2": 0})],
        [bp.KnownCount({"a2": 0}), bp.KnownCount({"a0": 1, "a1": 0, "a2": 0})],
    ):
        policy = bp.Policy(domain, secrets=bp.ByValue("a2", inner), known=known)
        tally = known_facts.Tally()
        known_facts.check(known_facts.Instance(policy, records, large=True), tally)
        assert tally.wrong == []
        assert sum(tally.results.values()) == 5


def test_large_domains_are_answered_at_once():
    wide = bp.Integer(0, 999_999)
    domain = bp.Domain(a=wide, b=wide, consent=CONSENT)
    parts = {
        "strict": bp.Partition(widths={"a": 1000, "b": 10}),
        "open": bp.PerAttribute(a=bp.DistanceThreshold(7), b=bp.Public()),
        "near": bp.DistanceThreshold(50, scale={"a": 2, "b": 1}),
    }
    start = process_time()
    policy = bp.Policy(domain, secrets=bp.ByValue("consent", parts), size=10_000)
    assert bp.sensitivity(bp.Sum("a"), policy).value == 999
    assert bp.sensitivity(bp.Sum("b"), policy).value == 50
    # The near part joins neighbouring blocks of the strict one.
    assert [(run.width, run.reach) for run in policy.graph.stretches("a")] == [(1_000_000, 999)]
    only = bp.Policy(domain, secrets=bp.ByValue("consent", {**parts, "near": bp.Public()}))
    assert len(only.graph.stretches("b")) == 1
    assert only.graph.stretches("b")[0].width == 10
    assert policy.graph.project(["a", "b"]).longest_move((1, 1)) == 999 + 9
    assert "Where “consent” is near" in policy.explain()
    assert process_time() - start < 2


def test_presence_alone_is_no_choice_of_one_value():
    with pytest.raises(bp.PolicyError, match="cannot be add_remove"):
        bp.ByValue("zone", {"n": bp.AddRemove(), "s": bp.FullDomain()})
