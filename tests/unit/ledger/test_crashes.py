"""Processes that die in the middle: no charge is lost, none is made twice, nothing is handed out twice."""

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.privacy.measure import EPSILON
from effort import examples
from unit.ledger.samples import load, request

TESTS = Path(__file__).parents[2]


def run(*arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


BUDGETS = {"pure": "1", "rho": {"rho": "0.5"}, "approximate": {"epsilon": "3", "delta": "1e-9"}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BUDGETS)
def test_eight_spenders_some_of_them_killed(tmp_path: Path, kind: str) -> None:
    seed, rounds, budget = random.SystemRandom().randrange(2**32), examples(20), BUDGETS[kind]
    spenders = Path(__file__).with_name("spenders.py")
    done = run(spenders, tmp_path, rounds, seed, json.dumps(budget), timeout=60 * rounds)
    assert done.returncode == 0, done.stderr
    played = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(played) == rounds
    nothing = {
        "stuck": 0,
        "failed": 0,
        "problems": [],
        "not as stored": [],
        "rows differ": False,
        "charged otherwise": [],
    }
    for left in played:
        context = f"seed {seed}: {left}\n{done.stderr}"
        assert {name: left[name] for name in nothing} == nothing, context
        # What is spent is what the worst pair lost, and no pair lost more than the budget.
        assert Fraction(left["spent"]) == Fraction(left["worst"]) == 1 - Fraction(left["remaining"]) <= 1, context
        assert left["handed out"] <= 8 * 12, context
        assert left["documents"] <= left["entries"], context
    # The kills must have hit processes at work, and the sums must have come close, or the test shows nothing.
    assert sum(left["killed"] for left in played) > rounds
    assert sum(left["documents"] < left["entries"] for left in played) > 0
    assert sum(Fraction(left["spent"]) > Fraction(3, 4) for left in played) > rounds / 2
    assert sum(Fraction(left["in one sum"]) > 1 for left in played) > rounds / 2
    assert max(left["measures"] for left in played) == (1 if kind == "pure" else 2)


CRASH = """
import json, os, sys
from fractions import Fraction
from unit.ledger.samples import load, request
from blowfish_privacy.ledger import SqliteLedger, sqlite

ledger = SqliteLedger.create(sys.argv[1], budget=json.loads(sys.argv[3]), load_policy=load)
crash = sys.argv[2]
append = sqlite.SqliteStore.append
swap_only = sqlite.SqliteStore._append_entry

def stop(*_, **__):
    os._exit(7)

def append_then_stop(*given, **named):
    append(*given, **named)
    os._exit(7)

if crash == "before the charge": stop()
if crash == "between balance and row": sqlite.SqliteStore._append_entry = stop
if crash == "before the commit of the charge": sqlite.SqliteStore.append = append_then_stop
ledger.charge(**request("a", "1/3"))
if crash == "after the charge": stop()
if crash == "before the commit of the document": sqlite.SqliteStore.append = append_then_stop
ledger.record("a", "first noise")
stop()
"""

LEFT_BEHIND = {
    "before the charge": (0, None),
    "between balance and row": (0, None),
    "before the commit of the charge": (0, None),
    "after the charge": (Fraction(1, 3), None),
    "before the commit of the document": (Fraction(1, 3), None),
    "after the document": (Fraction(1, 3), "first noise"),
}


@pytest.mark.parametrize("budget", ["1", {"rho": "0.5"}], ids=["pure", "rho"])
@pytest.mark.parametrize("crash", LEFT_BEHIND)
def test_what_a_crash_leaves_behind(tmp_path: Path, crash: str, budget: object) -> None:
    path = tmp_path / "a.ledger"
    done = run("-c", CRASH, path, crash, json.dumps(budget))
    assert done.returncode == 7, done.stderr
    ledger = SqliteLedger.open(path, load_policy=load)
    cost = ledger.measure.converted(Fraction(1, 3), EPSILON)
    assert (ledger.spent, ledger.document("a")) == (cost if LEFT_BEHIND[crash][0] else 0, LEFT_BEHIND[crash][1])
    assert ledger.verify().ok
    # The retry: charged once in all, and the document handed out is the one stored first.
    ledger.charge(**request("a", "1/3"))
    assert ledger.record("a", "second noise") == (LEFT_BEHIND[crash][1] or "second noise")
    assert ledger.spent == cost
    assert ledger.verify().ok
    assert os.listdir(tmp_path) == ["a.ledger"]


MAKING = """
import json, os, sys
from fractions import Fraction
from blowfish_privacy.ledger import SqliteLedger

if sys.argv[2] == "named":
    del os.O_TMPFILE
# What is imported late is imported now.
SqliteLedger.create(sys.argv[1] + "/first.ledger", budget=Fraction(1))
for steps in range(1000):
    folder = f"{sys.argv[1]}/{steps}"
    os.mkdir(folder)
    process = os.fork()
    if not process:
        left = steps

        def die(*_):
            global left
            left -= 1
            if left < 0:
                os._exit(7)

        sys.addaudithook(die)
        SqliteLedger.create(folder + "/a.ledger", budget=Fraction(2))
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    print(json.dumps([folder, sorted(os.listdir(folder))]))
    if status == 0:
        break
    assert os.waitstatus_to_exitcode(status) == 7
"""


def killed_while_making(folder: Path, draft: str) -> list[tuple[Path, list[str]]]:
    """Make a ledger in a process that dies at its first, second, .. file that is opened or linked; say what is left."""
    done = run("-c", MAKING, folder, draft)
    assert done.returncode == 0, done.stderr
    return [(Path(place) / "a.ledger", names) for place, names in map(json.loads, done.stdout.splitlines())]


def test_a_crash_while_a_ledger_is_made_leaves_nothing(tmp_path: Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except (AttributeError, OSError):
        pytest.skip("this disk has no files without a name")
    left = killed_while_making(tmp_path, "unnamed")
    assert {*map(tuple, (names for _, names in left))} == {(), ("a.ledger",)}
    for path, names in left:
        ledger = SqliteLedger.open(path) if names else SqliteLedger.create(path, budget=Fraction(2))
        assert ledger.remaining == 2
        assert ledger.verify().ok
        assert os.listdir(path.parent) == ["a.ledger"]
    # It died before the draft, with it, and after the ledger was there.
    assert len(left) > 5


def test_where_files_have_names_a_crash_leaves_the_draft_and_never_half_a_ledger(tmp_path: Path) -> None:
    left = killed_while_making(tmp_path, "named")
    kinds = {tuple(name if name == "a.ledger" else name[:8] for name in names) for _, names in left}
    assert kinds == {(), (".ledger-",), (".ledger-", "a.ledger"), ("a.ledger",)}
    for path, names in left:
        drafts = [path.with_name(name) for name in names if name != "a.ledger"]
        if len(names) == 2:
            with pytest.raises(LedgerError, match=r"hard links.* named \.ledger-"):
                SqliteLedger.open(path)
            drafts.pop().unlink()
        ledger = SqliteLedger.open(path) if "a.ledger" in names else SqliteLedger.create(path, budget=Fraction(2))
        assert ledger.verify().ok
        # Another process may be writing it.
        assert all(draft.exists() for draft in drafts)
