"""A benchmark that releases in a loop measures releases: the same again would be handed out from the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import blowfish_privacy as bp

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_every_round_beside_group_by_is_a_release_of_its_own(tmp_path):
    import release

    table = str(tmp_path / "table.parquet")
    release.make_table(Path(table), 1_000)
    first, second = (release.release(table, 4_357) for _ in range(2))
    assert (first.values != second.values).any()
    assert len([*release.session(table, 4_357).ledger.entries()]) == 2


def test_every_round_of_a_growing_release_reads_the_data(tmp_path):
    import scale

    scale.make(tmp_path, 1_000)
    session = bp.Session(tmp_path, scale.policy("a"), budget=10)
    for many in (1, 2):
        found = scale.release(session, "a")
        assert {"engine", "noise", "solve", "total"} <= set(found)
        assert session.engine.reads == many
    assert scale.scan(session, "a") > 0
