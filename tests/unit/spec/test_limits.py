"""A file, or a policy written in Python, cannot fill the memory: what is too large is refused early, with a way out."""

from __future__ import annotations

import difflib
import json
import random
import re
import time
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy.domain import coarser
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError, QueryError, SpecError, nearest
from blowfish_privacy.graphs.per_attribute import CartesianGraph
from blowfish_privacy.known_facts.fact_model import fact_model
from blowfish_privacy.mechanisms.ordered.ordered_family import ordered_form
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.support import limits, postgresql, yaml_text

ROOT = Path(__file__).parents[3]
WIDE = [5 * 10**6, 2**31, 10**12, 10**18]


class CountingParser(yaml_text.Parser):
    """Counts the events that are asked for."""

    events = 0

    def get_event(self) -> Any:
        type(self).events += 1
        return super().get_event()


@pytest.mark.parametrize(
    ("text", "limit", "most"),
    [
        ("[" + "1," * 100_000 + "1]", "FILE_VALUES", 1_000),
        ("a: {" + "".join(f"k{n}: v, " for n in range(50_000)) + "}", "FILE_VALUES", 1_000),
        ("- " * 5_000, "FILE_LEVELS", 100),
        ("[" * 100_000, "FILE_LEVELS", 100),
        ("{a: " * 100_000, "FILE_LEVELS", 100),
        ("? " * 5_000, "FILE_LEVELS", 100),
    ],
    ids=lambda value: str(value)[:8],
)
def test_a_file_is_read_no_further_than_its_limit(monkeypatch, text, limit, most):
    monkeypatch.setattr(yaml_text, limit, most)
    monkeypatch.setattr(yaml_text, "Parser", CountingParser)
    CountingParser.events = 0
    with pytest.raises(SpecError, match=f"more than {most:,} (values|levels)|plain text"):
        yaml_text.parse(text)
    assert CountingParser.events <= 2 * most + 10


def test_a_list_of_values_takes_little_more_memory_than_its_text():
    text = "[" + "1," * 50_000 + "1]"
    tracemalloc.start()
    assert len(yaml_text.parse(text)) == 50_001
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Nodes with their places took 600 bytes for each value.
    assert peak < 50 * 50_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (limits.FILE_CHARACTERS + 1), "more than 10,000,000 characters"),
        ("a: " + "x" * (limits.TEXT_CHARACTERS + 1), "line 1, column 4: a text has 20,001 characters"),
        ("a: " + "7" * 5_000, "a number has 5,000 digits"),
        ("a: 0." + "7" * 5_000, "a number has 5,002 digits"),
    ],
    ids=["file", "text", "number", "decimal"],
)
def test_long_files_texts_and_numbers_are_refused(text, said):
    with pytest.raises(SpecError, match=said):
        spec.loads(text)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(SpecError, match="more than 10,000,000 characters"):
        spec.load("/dev/zero")


def test_a_file_has_so_many_releases():
    releases = [{"name": f"r{n}", "histogram": "x", "epsilon": 1} for n in range(limits.RELEASES + 1)]
    body = {"version": 1, "policy": {"domain": {"x": {"integer": [0, 1]}}, "secrets": "full"}, "releases": releases}
    with pytest.raises(SpecError, match="at most 1,000 releases, got 1,001"):
        spec.loads(json.dumps(body))
    assert len(spec.loads(json.dumps({**body, "releases": releases[1:]})).releases) == limits.RELEASES


def test_large_honest_files_are_read():
    many = 100_000
    names = [f"category {number}" for number in range(many)]
    pairs = [[names[number], names[number + 1]] for number in range(many - 1)]
    body = {"domain": {"c": {"categorical": names}}, "secrets": {"edges": pairs}}
    loaded = spec.loads(json.dumps({"version": 1, "policy": body}))
    assert loaded.policy.domain.size == many
    assert len(loaded.policy.graph.pairs) == many - 1  # pyright: ignore
    assert loaded.policy.connected


def test_every_limit_is_stated_where_files_are_described():
    page = (ROOT / "docs/policy-file.md").read_text()
    stated = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert stated
    assert [name for name, value in stated.items() if f"| {value:,} |" not in page] == []


OLD = re.compile(
    r"^\s|\s$|^\w[\w+.-]*://|^(jdbc|odbc|pg|postgres\w*):|password\s*=|://?[^/]*:[^/]*@", re.IGNORECASE
)  # quadratic, and right


def test_addresses_are_told_from_paths_in_linear_time():
    source = random.Random(1)
    for _ in range(20_000):
        text = "".join(source.choice([":", "/", "@", "://", "a", ".", " ", "password", "=", "pg"]) for _ in range(9))
        assert bool(postgresql._FOREIGN.search(text)) == bool(OLD.search(text)), text
    start = time.process_time()
    for part in (":", "://", ":/a", "password ", "a", "a:", " ", "pg", "@:"):
        postgresql._FOREIGN.search("a:/" + part * (200_000 // len(part)))
    # Some hundredths of a second; the quadratic pattern took half a minute for the first part alone.
    assert time.process_time() - start < 5


def test_long_addresses_are_refused_unread():
    for address in ("a:/" + ":" * 200_000, "postgresql://h/d?query=" + "x" * 200_000, "x" * 200_000):
        with pytest.raises(BlowfishError, match="at most 20,000 characters") as caught:
            open_engine(address)
        assert "xxx" not in str(caught.value)


def test_a_hint_compares_few_and_short_names(monkeypatch):
    seen: list[int] = []

    def compared(word: str, possible: Any, **options: Any) -> list[str]:
        seen.append(max(len(word), len(possible), *map(len, possible)))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", compared)
    assert len(nearest("x" * 100_000, [f"{number}" + "y" * 5_000 for number in range(3_000)])) < 5_000
    assert seen == [1_000]


def wide_policy(size: int, **options: Any) -> bp.Policy:
    domain = bp.Domain(wage=bp.Integer(0, size - 1), zone=bp.Integer(0, 9))
    secrets = bp.PerAttribute(wage=bp.DistanceThreshold(5), zone=bp.FullDomain())
    return bp.Policy(domain, secrets=secrets, size=10_000, **options)


def refused(query: bp.Query, policy: bp.Policy, **options: Any) -> BlowfishError:
    """Plan a query that must be refused, and without large allocations."""
    tracemalloc.start()
    try:
        with pytest.raises(BlowfishError) as caught:
            make_plan(query, policy, records=10_000, **({"epsilon": 1} | options))
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()
    return caught.value


@pytest.mark.parametrize("size", WIDE)
@pytest.mark.parametrize("mechanism", [None, "smooth-hierarchy", "ordered", "ordered-hierarchical"])
@pytest.mark.parametrize("query", [bp.Cumulative("wage"), bp.Quantiles("wage"), bp.Ranges("wage", [(0, 9)])])
def test_wide_attributes_have_no_cumulative_histogram(query, mechanism, size):
    for options in ({}, {"epsilon": None, "error": 5}):
        error = refused(query, wide_policy(size), mechanism=mechanism, **options)
        assert isinstance(error, QueryError)
        assert f"at most 1,000,000 values, and wage has {size:,}" in error.message
        assert "wage: {binned: [0, " in str(error.hint)


@pytest.mark.parametrize("size", WIDE)
def test_wide_attributes_have_no_grid(size):
    for mechanism in (None, "grid-flow", "grid-hierarchy"):
        error = refused(bp.RangeGrid("wage", "zone"), wide_policy(size), mechanism=mechanism)
        assert "at most 2,000 values along each side, and wage has" in error.message
        assert "binned" in str(error.hint)


@pytest.mark.parametrize("size", WIDE)
def test_wide_attributes_have_sums_and_means(size):
    for query in (bp.Sum("wage"), bp.Mean("wage")):
        assert make_plan(query, wide_policy(size), epsilon=1, records=10_000).epsilon == 1
    known = [bp.KnownCount({"wage": (0, size // 2)})]
    assert make_plan(bp.Sum("zone"), wide_policy(size, known=known), epsilon=1, records=10_000).epsilon == 1


def test_a_release_has_so_many_groups():
    policy = bp.Policy(
        bp.Domain(zone=bp.Integer(0, 10**12), sex=bp.Categorical(["F", "M"])),
        secrets=bp.PerAttribute(zone=bp.Public(), sex=bp.FullDomain()),
    )
    session = bp.Session("none.csv", policy, budget=1)
    with pytest.raises(QueryError, match="at most 10,000 groups, got 1,000,000,000,001"):
        session.release(bp.Histogram("sex").by("zone"), epsilon=1)
    assert session.remaining == 1


def test_numbers_of_records_fit_the_arithmetic():
    domain = bp.Domain(x=bp.Integer(0, 9))
    for wrong in ({"size": limits.RECORDS + 1}, {"size": 10**300}, {"rows_per_person": 10**300}):
        with pytest.raises(bp.PolicyError, match=r"2\^53"):
            bp.Policy(domain, secrets=bp.FullDomain(), **wrong)
    largest = bp.Policy(domain, secrets=bp.FullDomain(), size=limits.RECORDS)
    assert make_plan(bp.Cumulative("x"), largest, epsilon=1, records=limits.RECORDS).explain()


def test_known_facts_on_wide_attributes():
    with pytest.raises(bp.PolicyError, match=r"2,000,000 cells; at most 1,000,000 are supported.*bins"):
        wide_policy(2_000_000, known=[bp.KnownMarginal("wage")])
    policy = wide_policy(limits.MARGINAL_CELLS, known=[bp.KnownMarginal("wage")])
    fact_model.cache_clear()
    assert "1,000,000 pieces, too many" in refused(bp.Histogram("zone"), policy).message


def test_what_lies_at_the_limit_is_planned():
    policy = wide_policy(limits.ORDERED_VALUES)
    assert ordered_form(bp.Cumulative("wage"), policy).outputs == limits.ORDERED_VALUES


@pytest.mark.parametrize("low", [0, -7, 17, 10**9])
@pytest.mark.parametrize("size", [2_001, 4_357, 10**6 + 1, *WIDE])
def test_suggested_bins_can_be_copied(low, size):
    attribute = bp.Integer(low, low + size - 1)
    first, second, third, last = map(int, re.findall(r"-?\d+", coarser("wage", attribute, 2_000)))
    assert first == low
    assert second - first == third - second > 0
    assert last > attribute.high
    assert (last - first) % (second - first) == 0
    assert 20 <= (last - first) // (second - first) <= 200
    assert bp.Binned(range(first, last + 1, second - first)).position(Fraction(attribute.high)) >= 0


def test_explaining_many_attributes_takes_one_look_at_each(monkeypatch):
    many = 200
    looks = 0
    hops = CartesianGraph.hops

    def counted(self: CartesianGraph, x: Any, y: Any) -> Any:
        nonlocal looks
        looks += 1
        return hops(self, x, y)

    monkeypatch.setattr(CartesianGraph, "hops", counted)
    domain = bp.Domain({f"a{number}": bp.Integer(0, 9) for number in range(many)})
    secrets = bp.PerAttribute({name: bp.DistanceThreshold(2) for name in domain})
    assert f"and {many - 4} more together" in bp.Policy(domain, secrets=secrets).explain()
    assert looks <= many + 5
