"""A black-box privacy audit of every mechanism: ``python -m blowfish_privacy.testing.audit --out audit-report``.

An attacker who knows both of two neighbouring tables looks at many outputs of a mechanism and must tell which table
they come from. On one sample the attacker chooses an event; on a fresh one the audit counts how often it happens on
each table. Clopper-Pearson bounds, with the error probability shared among all tests of the run, give a number that
the true privacy loss exceeds; when that number exceeds the certificate, the mechanism is broken. Sound mechanisms raise
an alarm in one run out of ``1 / FALSE_ALARMS`` at most.

The audit also shows that it can see: mechanisms with half the noise must be caught, as a whole and part by part.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from blowfish_privacy.files import write_atomically
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.testing.audit_cases import Case, apparent_loss, make_case, outputs, parts, quiet, weakened
from blowfish_privacy.workers import finished

FALSE_ALARMS = 1e-4
"""The probability that an audit of sound mechanisms raises any alarm, at most."""
MOST_TESTS = 500
"""Among so many tests the probability of a false alarm is shared."""
SAMPLES = 20_000
_TRAINING = 0.4
_PILOT, _SECONDS, _LEAST = 20, 60.0, 2_000
"""A slow mechanism gets fewer outputs: what it draws in about so many seconds, from one table."""
_SEEDS = 80
WHOLE = "all noise halved"
_VISIBLE = Fraction(7, 5)
"""A mutant is tried where it loses so many times what is certified."""
_PARTS = 3
"""One part halved, or a loss spread over many rows, is harder to see: so many times as many samples are drawn."""

Floats = npt.NDArray[np.float64]
Score = Callable[[npt.NDArray[Any]], Floats]


@dataclass(frozen=True)
class Finding:
    """What one test found: the loss is above ``bound``, whatever the mechanism claims."""

    mechanism: str
    case: str
    seed: int
    mutant: str
    """Empty for the mechanism itself; else which part of its noise was halved."""
    claimed: float
    bound: float
    sharp: bool
    parts: int
    seconds: float

    @property
    def alarm(self) -> bool:
        """Whether the certificate is refuted."""
        return self.bound > self.claimed


def lower_bound(mechanism: Mechanism, case: Case, *, samples: int, level: float, seconds: float = _SECONDS) -> float:
    """Return a number that the loss between the two tables exceeds, except with probability ``level``."""
    start = process_time()
    outputs(mechanism, case.tables[0], _PILOT)
    # How many outputs are drawn is settled before any of them is seen.
    samples = max(_LEAST, min(samples, int(seconds * _PILOT / max(process_time() - start, 1e-6))))
    training = [outputs(mechanism, table, int(_TRAINING * samples)) for table in case.tables]
    event = choose_event(case, training, samples, level)
    hits = [np.array([int(event(outputs(mechanism, table, samples)).sum())]) for table in case.tables]
    return float(clopper_pearson(hits[0], hits[1], samples, level)[0])


def clopper_pearson(first: npt.NDArray[Any], second: npt.NDArray[Any], samples: int, level: float) -> Floats:
    """Bound log(p / q) from below by how often events with probabilities p and q happened; wrong at most at level."""
    from scipy.stats import beta

    below = np.where(first > 0, beta.ppf(level / 2, np.maximum(first, 1), samples - first + 1), 0.0)
    above = np.where(second < samples, beta.ppf(1 - level / 2, second + 1, np.maximum(samples - second, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(below) - np.log(above)


def choose_event(case: Case, training: Sequence[list[npt.NDArray[Any]]], samples: int, level: float) -> Any:
    """Choose on the training outputs the score and the threshold that promise the largest bound."""
    lengths = [len(row) for drawn in training for row in drawn]
    length = max(set(lengths), key=lengths.count)
    best: tuple[float, Score, float] = (-inf, _flat, inf)
    usual = [np.array([row for row in drawn if len(row) == length]) for drawn in training]
    for score in _scores(case, usual) if all(map(len, usual)) else ():
        found = [score(rows) for rows in usual]
        thresholds = np.unique(np.quantile(found[0], _QUANTILES))
        scale = samples / len(training[0])
        hits = [np.array([int(scale * (each >= t).sum()) for t in thresholds]) for each in found]
        bounds = clopper_pearson(hits[0], hits[1], samples, level)
        if bounds.max() > best[0]:
            best = (float(bounds.max()), score, float(thresholds[bounds.argmax()]))

    def event(drawn: list[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        # A mechanism that chooses what to measure has outputs of several lengths; one length is looked at.
        rows = np.array([row for row in drawn if len(row) == length])
        return best[1](rows) >= best[2] if len(rows) else np.zeros(0, dtype=bool)

    return event


_QUANTILES = np.concatenate([np.linspace(0.3, 0.95, 40), 1 - np.geomspace(0.05, 0.002, 20)])


def _flat(rows: npt.NDArray[Any]) -> Floats:
    return np.zeros(len(rows))


def _scores(case: Case, usual: Sequence[npt.NDArray[Any]]) -> Iterator[Score]:
    """Try the likelihood ratio of independent Laplace noise on the outputs, and on their running sums."""
    shown = [outputs(quiet(case), table, 1)[0] for table in case.tables]
    exact = len(shown[0]) == len(shown[1]) == usual[0].shape[1]
    for seen in _VIEWS:
        views = [seen(rows) for rows in usual]
        middles = [seen(row[None, :])[0] for row in shown] if exact else [np.median(view, axis=0) for view in views]
        spread = np.mean([np.abs(view - m).mean(axis=0) for view, m in zip(views, middles, strict=True)], axis=0)
        yield _likelihood_ratio(seen, middles[0], middles[1], np.maximum(spread, 0.05))


_VIEWS: tuple[Callable[[npt.NDArray[Any]], npt.NDArray[Any]], ...] = (
    lambda rows: rows.astype(np.float64),
    lambda rows: np.cumsum(rows, axis=1).astype(np.float64),
)


def _likelihood_ratio(seen: Any, here: Floats, there: Floats, spread: Floats) -> Score:
    moved = np.flatnonzero(here != there)

    def score(rows: npt.NDArray[Any]) -> Floats:
        view = seen(rows)[:, moved]
        gain = np.abs(view - there[moved]) - np.abs(view - here[moved])
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return np.round((gain / spread[moved]).sum(axis=1), 9)

    return score


def run_test(name: str, seed: int, mutant: int | None, samples: int) -> Finding | None:
    """Test the case of a seed; ``mutant`` is -1 for the mechanism itself, a part, or None for all parts halved."""
    start = perf_counter()
    case = make_case(name, seed)
    if case is None:
        return None
    mechanism = case.mechanism if mutant == -1 else weakened(case, mutant)
    if mutant not in (-1, None) or (mutant is None and not case.mechanism.independent_rows):
        samples *= _PARTS
    bound = lower_bound(mechanism, case, samples=samples, level=FALSE_ALARMS / MOST_TESTS)
    said = {-1: "", None: WHOLE}.get(mutant, f"part {mutant} halved")
    claimed, many = float(case.claimed), parts(case.mechanism)
    return Finding(name, case.words, seed, said, claimed, bound, case.sharp, many, perf_counter() - start)


@dataclass(frozen=True)
class Verdict:
    """What an audit says about one mechanism."""

    mechanism: str
    tests: int
    largest: float
    """The largest bound found, as a share of the certificate."""
    alarms: tuple[Finding, ...]
    mutants: dict[str, tuple[int, int]]
    """By what was halved: in how many cases that was caught, and in how many it was tried."""
    seconds: float

    @property
    def passed(self) -> bool:
        """No certificate refuted, and every mutant caught at least once.

        Where the certificate is an upper bound, half the noise on one part may lose no more than it; there only half
        the noise on all parts has to be caught.
        """
        alone = MECHANISMS[self.mechanism].independent_rows
        owed = [caught for kind, (caught, _) in self.mutants.items() if alone or kind == WHOLE]
        return bool(self.tests and owed) and not self.alarms and all(owed)


def verdict(name: str, findings: Sequence[Finding]) -> Verdict:
    """Sum up the tests of one mechanism."""
    own = [finding for finding in findings if finding.mechanism == name]
    real = [finding for finding in own if not finding.mutant]
    kinds = dict.fromkeys(finding.mutant for finding in own if finding.mutant)
    mutants = {kind: [finding.alarm for finding in own if finding.mutant == kind] for kind in kinds}
    return Verdict(
        name,
        len(real),
        max((finding.bound / finding.claimed for finding in real), default=0.0),
        tuple(finding for finding in real if finding.alarm),
        {kind: (sum(caught), len(caught)) for kind, caught in mutants.items()},
        sum(finding.seconds for finding in own),
    )


def tests_for(name: str, cases: int, mutants: int) -> Iterator[tuple[str, int, int | None]]:
    """List the tests of a mechanism: its cases, then its noise halved where that can be seen."""
    found = {seed: case for seed in range(_SEEDS) if (case := make_case(name, seed)) is not None}
    facts = [seed for seed, case in found.items() if case.policy.known][: cases // 2]
    others = [seed for seed, case in found.items() if not case.policy.known][: cases - len(facts)]
    for seed in (*facts, *others):
        yield name, seed, -1
    sharp = {seed: case for seed, case in found.items() if case.sharp}
    most = max((parts(case.mechanism) for case in sharp.values()), default=0)
    for part in (None, *(range(most) if most > 1 else ())):
        for seed in showing(sharp, part, mutants):
            yield name, seed, part


def _listed(name: str, cases: int, mutants: int) -> list[tuple[str, int, int | None]]:
    return [*tests_for(name, cases, mutants)]


def showing(sharp: dict[int, Case], part: int | None, many: int) -> list[int]:
    """Return the seeds of cases in which halving a part of the noise, or all of it, shows most."""
    few: dict[int, int] = {}
    for seed, case in sharp.items():
        of_several = part is not None and part < parts(case.mechanism) and parts(case.mechanism) > 1
        # Halving a part that these tables do not touch loses nothing.
        if (part is None or of_several) and case.lost(weakened(case, part)) >= _VISIBLE * case.claimed:
            few[seed] = case.mechanism.rows
    # Where few rows are watched, a sample says much.
    tried = sorted(few, key=few.__getitem__)[: 6 * many]

    # With half the noise about twice as much is lost; what is above the certificate shows, less so over many rows.
    def hidden(seed: int) -> float:
        case = sharp[seed]
        return float(case.claimed) - 2 * apparent_loss(case) + case.mechanism.rows / 10

    return sorted(tried, key=hidden)[:many]


def audit(names: Sequence[str], *, cases: int, mutants: int, samples: int, workers: int, seen: Any) -> list[Finding]:
    """Run all tests over several processes."""
    with closing(finished(_listed, [(name, cases, mutants) for name in names], workers)) as listed:
        by_name = {task[0]: own for task, own in listed}
    tests = [test for name in names for test in by_name[name]]
    if len(tests) > MOST_TESTS:
        raise click.UsageError(f"an audit has at most {MOST_TESTS:,} tests; these are {len(tests):,}.")
    findings: list[Finding] = []
    with closing(finished(run_test, [(*test, samples) for test in tests], workers)) as results:
        for _, finding in results:
            if finding is not None:
                findings.append(finding)
            seen(len(tests))
    return sorted(findings, key=lambda finding: (finding.mechanism, finding.mutant, finding.seed))


def report(verdicts: Sequence[Verdict], samples: int) -> str:
    """Write the report in Markdown."""
    lines = [
        "# Privacy audit",
        "",
        f"Every mechanism on neighbouring tables of random policies: {samples:,} outputs of each table for a test,",
        f"besides {int(_TRAINING * samples):,} to choose the event ({_PARTS} times as many for mutants hard to see).",
        f"Sound mechanisms raise an alarm in at most one run out of {1 / FALSE_ALARMS:,.0f}.",
        "",
        "| mechanism | tests | largest bound / certificate | refuted | half the noise, caught | seconds | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in verdicts:
        caught = "; ".join(f"{kind}: {hits} of {many}" for kind, (hits, many) in one.mutants.items())
        said = "passed" if one.passed else "FAILED"
        share = f"{one.largest:.2f}"
        cells = [one.mechanism, one.tests, share, len(one.alarms), caught, f"{one.seconds:.0f}", said]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    for alarm in (alarm for one in verdicts for alarm in one.alarms):
        lines.append(
            f"\n**Refuted**: {alarm.mechanism}, {alarm.case}, seed {alarm.seed}: the loss is above {alarm.bound:.3f}, "
            f"the certificate says {alarm.claimed:g}."
        )
    return "\n".join([*lines, ""])


@click.command()
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("audit-report"), show_default=True
)
@click.option("--mechanism", "names", multiple=True, type=click.Choice(list(MECHANISMS)), help="Default: all.")
@click.option("--cases", default=16, show_default=True, help="Random policies for each mechanism.")
@click.option("--mutants", default=3, show_default=True, help="Cases in which noise is halved.")
@click.option("--samples", default=SAMPLES, show_default=True, help="Outputs of each table for one test.")
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
def main(out: Path, names: tuple[str, ...], cases: int, mutants: int, samples: int, workers: int) -> None:
    """Audit mechanisms and write report.md and report.json; fail when a certificate is refuted."""
    done = 0

    def seen(total: int) -> None:
        nonlocal done
        done += 1
        click.echo(f"\rTests: {done} of {total}", nl=False, err=True)

    chosen = names or tuple(MECHANISMS)
    findings = audit(chosen, cases=cases, mutants=mutants, samples=samples, workers=workers, seen=seen)
    click.echo("", err=True)
    verdicts = [verdict(name, findings) for name in chosen]
    out.mkdir(parents=True, exist_ok=True)
    text = report(verdicts, samples)
    write_atomically(out / "report.md", text.encode())
    written = {"false_alarm_rate": FALSE_ALARMS, "samples": samples, "tests": [asdict(one) for one in findings]}
    write_atomically(out / "report.json", json.dumps(written, indent=2).encode())
    click.echo(text)
    sys.exit(not all(one.passed for one in verdicts))


if __name__ == "__main__":
    main()
