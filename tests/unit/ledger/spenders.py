"""Rounds of eight processes that spend on one ledger, some of them killed at any moment.

What they charge are random vectors: some classes of secret pairs, some of them in a region; where the budget admits
Gaussian noise, some in rho and some in epsilon. Run as a program in a process of its own, which has no threads and may
fork: ``spenders.py FOLDER ROUNDS SEED BUDGET``, the budget as JSON. Prints one JSON line per round, with amounts as
shares of the budget.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import BudgetError
from blowfish_privacy.ledger import Entry, SqliteLedger
from blowfish_privacy.privacy.loss import EVERY, EVERYWHERE, Loss, PairClass, changing, region_of
from blowfish_privacy.privacy.measure import EPSILON, RHO, Budget
from unit.ledger.samples import PEOPLE, load, request

CLASSES = changing("age"), changing("sex")
REGIONS = [
    EVERYWHERE,
    *(region_of(PEOPLE, {"age": Subset.span(start, start + 7)}) for start in (0, 5, 14)),
    *(region_of(PEOPLE, {"sex": Subset.of([sex]), "age": Subset.span(3, 12)}) for sex in (0, 1)),
]
PROCESSES = 8
PART = Fraction(1, 12)
"""The part of the budget that the smallest charges cost."""
TRIES = 12
PATIENCE = 60.0


def vector(key: str, budget: Budget) -> Loss:
    """What a charge loses: the same for everybody who uses its key."""
    dice = random.Random(key)
    pairs = dice.sample(CLASSES, dice.randint(1, 2))
    places = [dice.choice(REGIONS) for _ in pairs]
    lost = {replace(c, within=at): PART * dice.randint(1, 3) for c, at in zip(pairs, places, strict=True)}
    lost |= {EVERY: PART / 4} if dice.random() < 0.1 else {}
    if budget.measure is not EPSILON and dice.random() < 0.5:
        return Loss.of({pairs: budget.amount * part for pairs, part in lost.items()}, RHO)
    return Loss.of({pairs: budget.measure.pure(budget.amount * part) for pairs, part in lost.items()})


def spend(path: Path, name: str, *, stops: bool) -> None:
    """Charge and record, again and again; one that stops does so between a charge of its own and its document."""
    ledger = SqliteLedger.open(path, load_policy=load)
    for number in range(TRIES):
        # Some keys are shared by all processes, which is how a retry looks.
        key = f"shared {number}" if number % 3 == 0 else f"{name} {number}"
        try:
            ledger.charge(**(request(key, policy="people") | {"loss": vector(key, ledger.terms)}))
        except BudgetError:
            # Another class, or another region, may have something left.
            continue
        if stops and number % 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        # A moment in which a charge has no document, so that more kills fall into it.
        time.sleep(0.003)
        handed_out = ledger.record(key, f"noise of {name}")
        with open(path.with_suffix(".out"), "a") as out:
            out.write(json.dumps([key, handed_out]) + "\n")


def start(path: Path, name: str, *, stops: bool) -> int:
    """Fork one spender."""
    process = os.fork()
    if process:
        return process
    try:
        spend(path, name, stops=stops)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def wait(process: int, deadline: float) -> int | None:
    """Wait for a process; None when it takes too long."""
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def stopped(process: int) -> bool:
    """Say whether a process has stopped, or has ended: neither is waited for."""
    return os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def play(path: Path, dice: random.Random, budget: Any) -> dict[str, object]:
    """Play one round and say what it left behind."""
    SqliteLedger.create(path, budget=budget)
    # However busy the machine, one is killed after a charge that has no document yet.
    processes = [start(path, str(number), stops=not number) for number in range(PROCESSES)]
    victims = dice.sample(processes[1:], dice.randint(1, PROCESSES - 2))
    for victim in victims:
        time.sleep(dice.random() * 0.03)
        os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while not stopped(processes[0]) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(processes[0], signal.SIGKILL)
    ends = [wait(process, deadline) for process in processes]
    ledger = SqliteLedger.open(path, load_policy=load)
    report = ledger.verify()
    lines = path.with_suffix(".out").read_text().splitlines() if path.with_suffix(".out").exists() else []
    entries, measure = ledger.entries(), ledger.measure
    right = {entry.key: vector(entry.key, ledger.terms).measured_in(measure) for entry in entries}
    wrong = [key for key, text in map(json.loads, lines) if ledger.document(key) != text]
    return {
        "stuck": ends.count(None),
        "killed": ends.count(signal.SIGKILL),
        "failed": sum(end not in (0, None, signal.SIGKILL) for end in ends),
        "finished": ends.count(0),
        "problems": report.problems,
        "entries": report.entries,
        "documents": report.documents,
        "rows differ": ledger.lost != Loss.total(right.values(), measure),
        "charged otherwise": [entry.key for entry in entries if entry.loss != right[entry.key]],
        "measures": len({entry.requested[0] for entry in entries}),
        "spent": str(report.spent / ledger.budget),
        "worst": str(worst(entries) / ledger.budget),
        "in one sum": str(sum(entry.charged for entry in entries) / ledger.budget),
        "remaining": str(ledger.remaining / ledger.budget),
        "handed out": len(lines),
        "not as stored": wrong,
    }


def worst(entries: tuple[Entry, ...]) -> Fraction:
    """The most that any class has lost at any value, by looking at every value."""
    sums = [
        sum(amount for entry in entries for pairs, amount in entry.loss if pairs == EVERY or meets(pairs, whole, cell))
        for whole in CLASSES
        for cell in product(range(PEOPLE["age"].size), range(PEOPLE["sex"].size))
    ]
    return max(sums)


def meets(pairs: PairClass, whole: PairClass, cell: tuple[int, ...]) -> bool:
    """Say whether pairs of a class lie at a value."""
    where = dict(zip(PEOPLE.names, cell, strict=True))
    return pairs.whole == whole and all(where[name] in subset for name, subset in pairs.within)


def main() -> None:
    """Play all rounds."""
    folder, rounds, seed, budget = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    dice = random.Random(seed)
    for number in range(rounds):
        print(json.dumps(play(folder / f"{number}.ledger", dice, budget)), flush=True)


if __name__ == "__main__":
    main()
