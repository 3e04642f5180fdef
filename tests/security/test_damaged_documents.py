"""Release documents damaged by accident or on purpose: whatever is wrong with one is an error of ours, soon."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import blowfish_privacy as bp
import spoilt_files as files
from blowfish_privacy import results
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import BlowfishError, DataError, LedgerError, QueryError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.ledger.entry import StoredPolicy
from blowfish_privacy.mechanisms.synthetic.rounds import Look, decoded, encoded
from blowfish_privacy.release import document, verification
from blowfish_privacy.release.checks import MOST_VALUES
from blowfish_privacy.statements.card import make_card
from effort import examples

MUTATIONS = examples(3000)

SLOW = 10.0


@cache
def documents() -> list[str]:
    """One document of every kind of query, some with known facts, one of several parts."""
    domain = bp.Domain(x=bp.Integer(0, 7), y=bp.Integer(0, 5), g=bp.Categorical(["a", "b"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.DistanceThreshold(2), y=bp.FullDomain(), g=bp.Public()))
    counts = bp.Counts([[[(x + y + g) % 3 for g in range(2)] for y in range(6)] for x in range(8)])
    known = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"g": "a"})])
    unknown = bp.Policy(domain, secrets=bp.FullDomain(), size="unknown")
    queries = [
        bp.Histogram("x", "g"), bp.Cumulative("x"), bp.Sum("x"), bp.Mean("x"), bp.RangeGrid("x", "y"),
        bp.Linear([[1] * 8, [0, 1] * 4], ["x"]), bp.Quantiles("x", [0.25, 0.5]), bp.Ranges("x", [(1, 3)]),
        bp.KMeans(["x", "y"], k=2), bp.Synthetic(["x", "y", "g"], 2, keep=["g"]),
    ]  # fmt: skip
    session = bp.Session(counts, policy, budget={"rho": 1000})
    texts = [session.release(query, epsilon=1).text for query in queries]
    texts += [
        session.release(bp.Cumulative("x"), epsilon=1, mechanism=name).text
        for name in ("ordered", "ordered-hierarchical")
    ]
    texts += [
        session.release(query, mechanism=name, **amount).text
        for query, name, amount in (
            (bp.Cumulative("x"), "smooth-hierarchy", {"epsilon": 1}),
            (bp.RangeGrid("x", "y"), "grid-hierarchy", {"epsilon": 1}),
            (bp.KMeans(["x", "y"], 2), "lloyd", {"epsilon": 1}),
            (bp.KMeans(["x", "y"], 2), "soft-mesh", {"epsilon": 1}),
            (bp.Tables([["x"], ["x", "g"]]), "marginals", {"epsilon": 1}),
            (bp.Tables([["x"], ["x", "g"]]), "gaussian-marginals", {"rho": 1}),
            (bp.Cumulative("x"), "gaussian-hierarchy", {"rho": 1}),
            (bp.RangeGrid("x", "y"), "gaussian-grid", {"rho": 1}),
            (bp.Synthetic(["x", "y"]), "synthetic", {"rho": 1}),
        )
    ]
    texts.append(session.release(bp.Histogram("g"), epsilon=1).text)
    texts.append(session.parallel("g").release(bp.Histogram("x"), epsilon=1).text)
    texts += [
        bp.Session(counts, each, budget=2).release(query, epsilon=1).text
        for each in (known, unknown)
        for query in (bp.Histogram("x"), bp.Synthetic(["x", "y"]))
    ]
    return texts


def places(body: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with every key or index in it."""
    if isinstance(body, dict | list):
        for key in list(body) if isinstance(body, dict) else range(len(body)):
            yield body, key
            yield from places(body[key])


DEEP = "many brackets"

ODD: list[Any] = [
    None, True, False, 0, -1, 1, 3, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "1/0", "1/3", "-1", "1e999999", "9" * 5000, "\ud800", "\x00", [], [[]], [0], [None], {},
    {"": 0}, [1] * 50, {"x": {"integer": [0, 10**12]}}, {"integer": [0, 10**18]}, "full", ["x"], ["x", "x"],
    {"threshold": 10**30}, "4611686018427387904", "1/4611686018427387904", 2**27, 2**40,
]  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """Damage a document in one to three places."""
    body = json.loads(text)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        spots = list(places(body))
        if not spots:
            break
        holder, key = chance.choice(spots)
        other, place = chance.choice(spots)
        kind = chance.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind in (1, 2):
            holder[key] = copy.deepcopy(chance.choice(ODD))
        elif kind == 3:
            holder[key] = copy.deepcopy(other[place])
        elif kind == 4 and isinstance(holder, dict):
            holder[chance.choice(["x", "", "parts", "name"])] = holder.pop(key)
        elif kind == 5:
            holder[key] = DEEP
        elif kind == 6 and isinstance(holder[key], str) and holder[key]:
            holder[key] = holder[key][: chance.randrange(len(holder[key]))]
        elif kind == 7 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(chance.choice(ODD)))
    damaged = document.dumps(body) if isinstance(body, dict) else json.dumps(body)
    depth = chance.choice([1, 5, 300, 900, 5000, 200_000])
    damaged = damaged.replace(f'"{DEEP}"', "[" * depth + "]" * depth)
    return damaged[: chance.randrange(len(damaged))] if chance.random() < 0.05 else damaged


def use(result: Any) -> None:
    """What somebody does with a result first."""
    for each in result.values() if isinstance(result, results.GroupsResult) else [result]:
        repr(each)
        _ = each.statement, each.notices, each.certificate, each.values
        each.title()
        if isinstance(each, results.SyntheticResult) and not each.release.query.keep:
            # As many as a damaged document states may be very many.
            each.records(100)
        else:
            each.csv()


def look(text: str) -> None:
    """Draw a document and read its table; every number in it is checked where it is used, not before."""
    made = results.from_text(text)
    assert made.figure() is not None
    for _ in islice(made.rows(), 1000):
        pass


def outcomes(read: Callable[[str], Any], seed: int, count: int) -> dict[str, int]:
    chance = random.Random(seed)
    found: dict[str, int] = {}
    for number in range(count):
        text = mutated(chance.choice(documents()), chance)
        start = time.process_time()
        try:
            read(text)
            kind = "read"
        except BlowfishError:
            kind = "ours"
        except Exception as error:
            kind = f"{type(error).__name__} in {number}: {str(error)[:100]}"
        if time.process_time() - start > SLOW:
            kind = f"slow: {number}"
        found[kind] = found.get(kind, 0) + 1
    return found


def test_every_damaged_document_is_an_error_of_ours() -> None:
    found = outcomes(lambda text: use(results.from_text(text)), 1, MUTATIONS)
    assert set(found) == {"read", "ours"}, found
    assert found["ours"] > MUTATIONS / 4


def load(path: Path) -> Callable[[str], None]:
    def read(text: str) -> None:
        path.write_text(text, errors="surrogatepass")
        use(bp.load(path))

    return read


@pytest.mark.parametrize("how", ["load", "verify", "card", "look"])
def test_other_readers_refuse_it_too(tmp_path: Path, how: str) -> None:
    read = {"load": load(tmp_path / "a.json"), "verify": verification.problems, "card": make_card, "look": look}[how]
    found = outcomes(read, 2, MUTATIONS // (6 if how == "load" else 50))
    assert set(found) <= {"read", "ours"}, found


def resealed(query: Any, change: Callable[[Any], object], **options: Any) -> str:
    """Release over one attribute of 32 values, change the document, and seal it again."""
    domain = bp.Domain(x=bp.Integer(0, 31), g=bp.Categorical(["a", "b"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.FullDomain(), g=bp.Public()))
    counts = bp.Counts([[n % 5, 3] for n in range(32)])
    body = json.loads(bp.Session(counts, policy, budget={"rho": 1000}).release(query, **options).text)
    change(body)
    return document.dumps(body)


def in_little_memory(work: Callable[[str], object], text: str) -> None:
    """Let a child do it, which may take 10 s and so much memory; only errors of ours may come of it."""

    def attempt() -> str:
        try:
            work(text)
        except BlowfishError:
            return "ours"
        return "read"

    word, failure, _, _ = files.bounded(attempt)
    assert (word in {"ours", "read"}, failure) == (True, "")


NAMED: dict[str, Callable[[], str]] = {
    "groups without a guarantee": lambda: resealed(
        bp.Histogram("x").by("g"), lambda body: body.pop("guarantee"), epsilon=1
    ),
    "groups whose guarantee is text": lambda: resealed(
        bp.Histogram("x").by("g"), lambda body: body.update(guarantee="none"), epsilon=1
    ),
    "a variance of 2^62": lambda: resealed(
        bp.Cumulative("x"),
        lambda body: body["mechanism"]["levels"][0][0].update(variance=str(2**62)),
        mechanism="gaussian-hierarchy",
        rho=1,
    ),
    "synthetic records of nobody": lambda: resealed(
        bp.Synthetic(["x", "g"]), lambda body: body.update(records=0), epsilon=1
    ),
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("work", [look, verification.problems, make_card], ids=["look", "verify", "card"])
def test_a_damaged_document_that_was_sealed_again_is_bounded(
    name: str, work: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 2**30)
    in_little_memory(work, NAMED[name]())


def test_synthetic_records_are_drawn_where_nothing_was_counted() -> None:
    """A first table without a positive count leaves no shares: values are then drawn evenly, as elsewhere."""

    def emptied(body: Any) -> None:
        steps = decoded(np.array(body["values"]), [32, 2])
        looks = [replace(each, noisy=-abs(each.noisy) - 1) if isinstance(each, Look) else each for each in steps]
        body["values"] = encoded(looks).tolist()

    made = results.from_text(resealed(bp.Synthetic(["x", "g"]), emptied, epsilon=1))
    assert len([*made.rows()]) == made.many


def test_whole_documents_are_read() -> None:
    for text in documents():
        use(results.from_text(text))
        assert verification.problems(text) == []


def test_a_document_too_long_to_be_stored_is_refused_before_the_charge() -> None:
    domain = bp.Domain(x=bp.Integer(0, 4999), y=bp.Integer(0, 4999), g=bp.Categorical(["a", "b"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.FullDomain(), y=bp.FullDomain(), g=bp.Public()))
    session = bp.Session(pa.table({"x": [1], "y": [2], "g": ["a"]}), policy, budget=1)
    start = time.process_time()
    with pytest.raises(QueryError, match="too long for a ledger"):
        session.release(bp.Histogram("x", "y", "g"), epsilon=1)
    # Every part would do by itself, but not all in one document.
    with pytest.raises(QueryError, match="too long for a ledger"):
        session.parallel("g").release(bp.Histogram("x", "y"), epsilon=1)
    assert time.process_time() - start < SLOW
    assert (session.remaining, session.engine.reads) == (1, 0)


def test_the_longest_document_can_be_stored() -> None:
    longest = len(json.dumps([-(2**63)] * 1000)) / 1000
    assert MOST_VALUES * longest < 0.9 * 10**9


# Errors of the libraries underneath: none of them comes through, and no message of theirs.


DOMAIN = bp.Domain(x=bp.Integer(0, 2))


def panicking(frame: pl.DataFrame) -> pl.DataFrame:
    raise pl.exceptions.PanicException("CANARY 987654")


def test_a_panic_inside_polars_is_an_error_about_the_data() -> None:
    engine = open_engine(pl.LazyFrame({"x": [1, 2]}).map_batches(panicking))
    for ask in (lambda: engine.counts(DOMAIN, [["x"]]), engine.rows, lambda: engine.check(DOMAIN)):
        with pytest.raises(DataError, match="PanicException") as caught:
            ask()
        assert "CANARY" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_it_is_charged_once_and_costs_nothing_again() -> None:
    policy = bp.Policy(DOMAIN, secrets=bp.FullDomain())
    session = bp.Session(pl.LazyFrame({"x": [1, 2]}).map_batches(panicking), policy, budget=1)
    with pytest.raises(DataError) as caught:
        session.release(bp.Histogram("x"), epsilon=1)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_to_pass_passes(stop: type[BaseException]) -> None:
    class Stopping:
        engine, label = "none", "none"

        def open(self, choose: Any) -> Any:
            raise stop

        def rest(self) -> None:
            pass

    from blowfish_privacy.engines.sql.table import TableEngine

    with pytest.raises(stop):
        TableEngine(Stopping()).counts(DOMAIN, [["x"]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "detail", ["", "{", "[]", "null", "7", '{"asked": 1}', '{"asked": []}', '{"asked": {"a": 1}}', "[" * 100_000]
)
def test_the_damaged_detail_of_an_entry_is_an_error_of_the_ledger(detail: str) -> None:
    stored = StoredPolicy("hash", "{}")
    entry = Entry(1, "key", "now", stored, Fraction(1), Fraction(1), "same", "words", "", "laplace", detail)
    with pytest.raises(LedgerError):
        _ = entry.asked
