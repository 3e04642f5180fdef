"""Thousands of damaged policy files: each must be planned or refused in our words, quickly and in little memory.

``python -m blowfish_lab.audit.files --instances 20000`` makes files (:mod:`.file_mutations`), reads each in a
separate process with bounded time and memory, checks it, explains it, plans its releases, and fails when one ends in
anything but success or an error of ours. ``--only NUMBER`` shows one file, and what becomes of it.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import yaml

from blowfish_lab.audit.file_corpus import CORPUS
from blowfish_lab.audit.file_mutations import mutated_file
from blowfish_privacy.errors import BlowfishError, BlowfishWarning
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.statements.facts import what_facts_do
from blowfish_privacy.statements.policy import overview
from blowfish_privacy.support.progress import finished

MOST_SECONDS = 10
MOST_BYTES = 2 * 2**30
_RECORDS = 10_000
_AT_ONCE = 50


@dataclass(frozen=True)
class Outcome:
    """What became of a file: one word, what is wrong with that (or nothing), and what it took."""

    number: int
    word: str
    failure: str
    seconds: float
    bytes: int


def examine(path: Path) -> str:
    """Do what the commands do with a policy file before they read data; return one word for how it went."""
    try:
        loaded = spec.load(path)
    except BlowfishError as error:
        return type(error).__name__
    policy = loaded.policy
    _attempt(lambda: (policy.words(), policy.connected, [fact.words(policy.domain) for fact in policy.known]))
    for _, query in overview(policy.domain):
        _attempt(lambda query=query: sensitivity(query, policy))
    _attempt(policy.explain)
    _attempt(lambda: [*what_facts_do(policy)] if policy.known else [])
    _attempt(lambda: _read_back(loaded))
    words = {_attempt(lambda planned=planned: _plan(planned, loaded)) for planned in loaded.releases}
    return "planned" if words <= {""} else sorted(words)[-1]


def _attempt(work: Callable[[], Any]) -> str:
    try:
        work()
    except BlowfishError as error:
        return type(error).__name__
    return ""


def _plan(planned: spec.PlannedRelease, loaded: spec.PolicyFile) -> None:
    made = make_plan(
        planned.query,
        loaded.policy,
        spending=planned.spending,
        mechanism=planned.mechanism,
        records=loaded.policy.records or _RECORDS,
        name=planned.name,
    )
    made.expected_error().interval("0.95")
    made.explain()
    list(made.notices)


def _read_back(loaded: spec.PolicyFile) -> None:
    """Check that a policy survives being written and read: a ledger stores it as the text of a file."""
    if spec.loads(spec.dumps(loaded.policy)).policy.hash != loaded.policy.hash:
        raise RuntimeError("the policy changed when it was written and read back")


def bounded(work: Callable[[], str]) -> tuple[str, str, float, int]:
    """Run something in a child with bounded time and memory; return its word, its failure, seconds and bytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _in_child(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        word, _, failure = pipe.read().decode().partition("\n")
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        ended = signal.Signals(os.WTERMSIG(status))
        failure = f"over {MOST_SECONDS} s" if ended in (signal.SIGPROF, signal.SIGALRM) else f"ended by {ended.name}"
    return word or "failed", failure, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _in_child(work: Callable[[], str], writing: int) -> None:
    # What the parent left over is not to be collected here: a library's threads, which it may wait for, are not here.
    gc.freeze()
    try:
        # Address space that libraries have set aside before does not count.
        most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        # Both signals end the process. Its processor time counts, however busy the machine; waiting has a bound too.
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 10 * MOST_SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", BlowfishWarning)
            said = work()
    except BaseException:
        said = f"failed\n{traceback.format_exc()}"
    os.write(writing, said.encode("utf-8", "replace")[:60_000])
    os._exit(0)


def examine_many(first: int, number: int, seed: int, corpus: Sequence[dict[str, Any]] = CORPUS) -> list[Outcome]:
    """Examine several files in turn."""
    outcomes: list[Outcome] = []
    with TemporaryDirectory(prefix="blowfish-files-") as folder:
        path = Path(folder) / "policy.yaml"
        _load_libraries(path)
        for index in range(first, first + number):
            path.write_bytes(mutated_file(seed, index, corpus))
            outcomes.append(Outcome(index, *bounded(lambda: examine(path))))
    return outcomes


_loaded: list[bool] = []


def _load_libraries(path: Path) -> None:
    """Import, once for all child processes, what is otherwise imported on first use."""
    if _loaded:
        return
    for body in CORPUS:
        path.write_text(json.dumps(body))
        examine(path)
    _loaded.append(True)
    gc.collect()
    gc.freeze()


def report(outcomes: Sequence[Outcome]) -> str:
    """Count the outcomes, and state the most time and memory that one file took."""
    lines = [f"{count:8,} {word}" for word, count in Counter(each.word for each in outcomes).most_common()]
    slowest, largest = max(outcomes, key=lambda each: each.seconds), max(outcomes, key=lambda each: each.bytes)
    return "\n".join([
        *lines,
        f"mean: {sum(each.seconds for each in outcomes) / len(outcomes):.2f} s of processor time",
        f"slowest: {slowest.seconds:.1f} s of processor time (file {slowest.number})",
        f"largest: {largest.bytes / 2**20:,.0f} MB (file {largest.number})",
        f"{sum(bool(each.failure) for each in outcomes):8,} failures",
    ])  # fmt: skip


@click.command()
@click.option("--instances", default=20_000, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first file.")
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
@click.option("--only", type=int, help="Show this file alone, and what becomes of it.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(instances: int, seed: int, first: int, workers: int, only: int | None, paths: tuple[Path, ...]) -> None:
    """Damage policy files (of the corpus, and PATHS) and check that each is planned or refused as it should be."""
    corpus = (*CORPUS, *(yaml.safe_load(path.read_text()) for path in paths))
    if only is not None:
        sys.stdout.buffer.write(mutated_file(seed, only, corpus) + b"\n")
        click.echo(examine_many(only, 1, seed, corpus)[0])
        return
    last = first + instances
    tasks = [(start, min(_AT_ONCE, last - start), seed, corpus) for start in range(first, last, _AT_ONCE)]
    collected: list[Outcome] = []
    with (
        closing(finished(examine_many, tasks, workers)) as done,
        click.progressbar(length=instances, label="Files", file=sys.stderr) as bar,
    ):
        for _, outcomes in done:
            collected += outcomes
            bar.update(len(outcomes))
            for outcome in outcomes:
                if outcome.failure:
                    click.echo(f"\nfile {outcome.number} of seed {seed}: {outcome.failure}", err=True)
    click.echo(report(collected))
    sys.exit(any(outcome.failure for outcome in collected))


if __name__ == "__main__":
    main()
