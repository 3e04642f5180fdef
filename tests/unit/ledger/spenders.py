"""Rounds of eight processes that spend on one ledger, some of them killed at any moment.

Run as a program in a process of its own, which has no threads and may fork: ``spenders.py FOLDER ROUNDS SEED``. Prints
one JSON line per round.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from fractions import Fraction
from pathlib import Path

from blowfish_privacy.errors import BudgetError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.samples import load, request

PROCESSES = 8
CHARGES = 12
PATIENCE = 20.0


def spend(path: Path, name: str) -> None:
    """Charge and record until nothing is left."""
    ledger = SqliteLedger.open(path, load_policy=load)
    for number in range(2 * CHARGES):
        # Some keys are shared by all processes, which is how a retry looks.
        key = f"shared {number}" if number % 3 == 0 else f"{name} {number}"
        try:
            ledger.charge(**request(key, Fraction(1, CHARGES)))
        except BudgetError:
            return
        handed_out = ledger.record(key, f"noise of {name}")
        with open(path.with_suffix(".out"), "a") as out:
            out.write(json.dumps([key, handed_out]) + "\n")


def start(path: Path, name: str) -> int:
    """Fork one spender."""
    process = os.fork()
    if process:
        return process
    try:
        spend(path, name)
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


def play(path: Path, dice: random.Random) -> dict[str, object]:
    """Play one round and say what it left behind."""
    SqliteLedger.create(path, budget=Fraction(1))
    processes = [start(path, str(number)) for number in range(PROCESSES)]
    victims = dice.sample(processes, dice.randint(1, PROCESSES - 1))
    for victim in victims:
        time.sleep(dice.random() * 0.03)
        os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    ends = [wait(process, deadline) for process in processes]
    ledger = SqliteLedger.open(path, load_policy=load)
    report = ledger.verify()
    lines = path.with_suffix(".out").read_text().splitlines() if path.with_suffix(".out").exists() else []
    wrong = [key for key, text in map(json.loads, lines) if ledger.document(key) != text]
    return {
        "stuck": ends.count(None),
        "killed": ends.count(signal.SIGKILL),
        "failed": sum(end not in (0, None, signal.SIGKILL) for end in ends),
        "finished": ends.count(0),
        "problems": report.problems,
        "entries": report.entries,
        "documents": report.documents,
        "spent": str(report.spent),
        "remaining": str(ledger.remaining),
        "handed out": len(lines),
        "not as stored": wrong,
    }


def main() -> None:
    """Play all rounds."""
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    dice = random.Random(seed)
    for number in range(rounds):
        print(json.dumps(play(folder / f"{number}.ledger", dice)), flush=True)


if __name__ == "__main__":
    main()
