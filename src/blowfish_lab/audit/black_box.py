"""A black-box privacy audit of every mechanism: ``python -m blowfish_lab.audit.black_box --out audit-report``.

An attacker who knows both of two neighbouring tables looks at many outputs of a mechanism and must tell which table
they come from. On one sample the attacker chooses an event; on a fresh one the audit counts how often it happens on
each table. Clopper-Pearson bounds, with the error probability shared among all tests of the run, give a number that
the true privacy loss exceeds; when that number exceeds the certificate, the mechanism is broken. Sound mechanisms raise
an alarm in one run out of ``1 / FALSE_ALARMS`` at most. A certificate in rho is looked at through the epsilon that it
promises with one delta: an event may then be that much likelier besides.

The audit also shows that it can see: mechanisms with half the noise must be caught, as a whole and part by part.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf
from pathlib import Path
from time import process_time
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from blowfish_lab.audit.cases import IN_ROUNDS, Case, Remembered, exact_rows, make_case, outputs, parts, weakened
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.mechanisms.clusters.lloyd import NoisyLloyd
from blowfish_privacy.mechanisms.clusters.soft_grid import CountedGrid
from blowfish_privacy.mechanisms.clusters.soft_mesh import SoftMesh
from blowfish_privacy.mechanisms.grid.adaptive_grid import AdaptiveGrid, SquareBlocks
from blowfish_privacy.mechanisms.synthetic.rounds import Look
from blowfish_privacy.mechanisms.synthetic.synthetic import SyntheticMechanism
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.support.arrays import Floats
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import finished

# Following a mechanism that continues from its noisy numbers: what its later steps would have shown without noise.
#
# Whoever sees an output knows every noisy number that led to the next question, and so the question itself. An attacker
# who knows both tables works out its exact answers on each of them, and compares.

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Followed:
    """The noisy numbers of one output, what either table would have shown, and the certified scales of the noise."""

    noisy: Numbers
    exact: tuple[Numbers, Numbers]
    scales: Numbers
    measure: Measure = EPSILON
    """In rho the scales are variances."""

    @property
    def gain(self) -> float:
        """The logarithm of how much likelier the first table is, for noise of these scales."""
        first, second = (self._off(self.noisy - each) for each in self.exact)
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return round(float((second - first).sum()), 9)

    @property
    def loss(self) -> float:
        """The largest gain that noise could have led to, had it led to the same questions; for a variance, the rho."""
        return float(self._off(self.exact[0] - self.exact[1]).sum())

    def _off(self, numbers: Numbers) -> Numbers:
        return numbers**2 / (2 * self.scales) if self.measure is RHO else np.abs(numbers) / self.scales


Follow = Callable[[Numbers], Followed]


def follower(mechanism: Mechanism, case: Case) -> Follow | None:
    """Return how to follow the outputs of a mechanism; None where all its questions are fixed beforehand.

    It is the case's own or one with less noise, which may ask other questions.
    """
    if isinstance(mechanism, NoisyLloyd):
        records = None if mechanism.secret_size else int(case.tables[0].sum())
        return _rounds(mechanism, case.aggregates, records)
    if isinstance(mechanism, SyntheticMechanism):
        return _looks(mechanism, case.aggregates)
    if isinstance(mechanism, CountedGrid):
        return _counted(mechanism, case.aggregates)
    if isinstance(mechanism, AdaptiveGrid):
        return _blocks(mechanism, case.aggregates)
    return _mesh(mechanism, case.aggregates) if isinstance(mechanism, SoftMesh) else None


def _rounds(mechanism: NoisyLloyd, tables: tuple[Remembered, ...], records: int | None) -> Follow:
    scales_of_a_cluster = [float(mechanism.size_scale), *[float(mechanism.sum_scale)] * len(mechanism.reaches)]
    scales = np.tile(scales_of_a_cluster, mechanism.rounds * len(mechanism.start))

    def follow(row: Numbers) -> Followed:
        rounds, centres = list(row.reshape(mechanism.rounds, -1)), mechanism.start
        exact: list[list[Numbers]] = [[], []]
        for number in range(mechanism.rounds):
            if number:
                centres = mechanism.moved(centres, rounds[:number], records)
            for table, shown in zip(tables, exact, strict=True):
                shown.append(table.assignments(mechanism.question(centres)).reshape(-1))
        return Followed(row, (np.concatenate(exact[0]), np.concatenate(exact[1])), scales)

    return follow


def _looks(mechanism: SyntheticMechanism, tables: tuple[Remembered, ...]) -> Follow:
    names = mechanism.domain.names
    sets = [tuple(names.index(name) for name in listed) for listed in mechanism.tables(mechanism.scope.query)]
    first, second = (
        dict(zip(sets, table.counts(mechanism.tables(mechanism.scope.query)), strict=True)) for table in tables
    )

    def follow(row: Numbers) -> Followed:
        looks = [step for step in mechanism.steps(row) if isinstance(step, Look) and step.scale]
        noisy, *exact = (
            np.concatenate([each.reshape(-1) for each in counts])
            for counts in zip(*((look.noisy, first[look.axes], second[look.axes]) for look in looks), strict=True)
        )
        scales = np.concatenate([np.full(look.noisy.size, float(look.scale)) for look in looks])
        return Followed(noisy, (exact[0], exact[1]), scales, mechanism.counted_in)

    return follow


def _counted(mechanism: CountedGrid, tables: tuple[Remembered, ...]) -> Follow:
    def follow(row: Numbers) -> Followed:
        lattice = mechanism.lattice(mechanism.cells(int(row[0])))
        sums = [table.lattice_sums(lattice).reshape(-1) for table in tables]
        first, second = (np.append(each.sum() // lattice.unit, each) for each in sums)
        scales = np.repeat([float(mechanism.count_scale), float(mechanism.scale)], [1, len(row) - 1])
        return Followed(row, (first, second), scales)

    return follow


def _mesh(mechanism: SoftMesh, tables: tuple[Remembered, ...]) -> Follow:
    looks = [table.lattice_sums(mechanism.first.lattice).reshape(-1) for table in tables]

    def follow(row: Numbers) -> Followed:
        mesh, level, nodes = mechanism.parse(row)
        first, second = (
            np.concatenate([look, mesh.restrict(table.lattice_sums(level.lattice))])
            for look, table in zip(looks, tables, strict=True)
        )
        scales = np.repeat([float(mechanism.first.scale), float(level.scale)], [mechanism.rows, len(nodes)])
        return Followed(np.concatenate([row[: mechanism.rows], nodes]), (first, second), scales)

    return follow


def _blocks(mechanism: AdaptiveGrid, tables: tuple[Remembered, ...]) -> Follow:
    rows, columns = mechanism.form.domain.shape
    blocks, scales = SquareBlocks((rows, columns), mechanism.side), mechanism.scales
    counts = [table.counts()[0].reshape(rows, columns) for table in tables]

    def follow(row: Numbers) -> Followed:
        full = row[: blocks.many].reshape(blocks.table) >= mechanism.full
        cells = np.where(blocks.to_cells(full), float(scales.fine), float(scales.coarse)).reshape(-1)
        numbers = (blocks.many, int((~full).sum()))
        used = np.concatenate([np.repeat([float(scales.look), float(scales.again)], numbers), cells])
        first, second = (
            np.concatenate([(sums := blocks.sums(each)).reshape(-1), sums[~full], each.reshape(-1)]) for each in counts
        )
        if mechanism.total is None:
            return Followed(row, (first, second), used)
        ends = np.append(first, counts[0].sum()), np.append(second, counts[1].sum())
        return Followed(row, ends, np.append(used, float(mechanism.total)))

    return follow


TRAINING = 0.4
"""How many outputs are drawn for choosing the event, relative to those for counting it."""
_PILOT, _SECONDS, _LEAST, _LEAST_SEEN_THROUGH_DELTA = 20, 5.0, 3_000, 9_000
"""Seconds for one table: a slow mechanism gets only as many outputs as it draws in about this time, but some at least.

Through a delta less is seen of each: with 3,000 outputs no case of synthetic records reached half of its certificate.
"""

Rows = list[npt.NDArray[Any]]
Score = Callable[[Rows], Floats]
Hits = npt.NDArray[np.bool_]


def affordable(mechanism: Mechanism, case: Case, samples: int, seconds: float = _SECONDS) -> int:
    """Return how many outputs to draw, at most those asked for; this is decided before any of them is seen."""
    start = process_time()
    outputs(mechanism, case.aggregates[0], _PILOT)
    least = _LEAST_SEEN_THROUGH_DELTA if case.delta else _LEAST
    return min(samples, max(least, int(seconds * _PILOT / max(process_time() - start, 1e-6))))


def lower_bound(mechanism: Mechanism, case: Case, *, samples: int, level: float) -> float:
    """Return a number that the loss between the two tables exceeds, except with probability ``level``.

    Where the case allows for a delta, it is the epsilon that goes with it.
    """
    training = [outputs(mechanism, table, int(TRAINING * samples)) for table in case.aggregates]
    scores = _scores(mechanism, case, training)
    delta = float(case.delta)
    event = choose_event(scores, training, samples, level, delta)
    hits = [np.array([int(event(outputs(mechanism, table, samples)).sum())]) for table in case.aggregates]
    return float(clopper_pearson(hits[0], hits[1], samples, level, delta)[0])


def clopper_pearson(
    first: npt.NDArray[Any], second: npt.NDArray[Any], samples: int, level: float, delta: float = 0.0
) -> Floats:
    """Bound log((p - delta) / q) from below by how often events of probabilities p and q happened.

    It is wrong at most at level.
    """
    from scipy.stats import beta

    below = np.where(first > 0, beta.ppf(level / 2, np.maximum(first, 1), samples - first + 1), 0.0)
    above = np.where(second < samples, beta.ppf(1 - level / 2, second + 1, np.maximum(samples - second, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(below - delta, 0)) - np.log(above)


def choose_event(
    scores: Iterable[Score], training: Sequence[Rows], samples: int, level: float, delta: float
) -> Callable[[Rows], Hits]:
    """Choose on the training outputs the score and the threshold that promise the largest bound."""
    best: tuple[float, Score, float] = (-inf, _flat, inf)
    for score in scores:
        scored = [score(rows) for rows in training]
        thresholds = np.unique(np.quantile(scored[0], _QUANTILES))
        scale = samples / len(training[0])
        hits = [np.array([int(scale * (each >= t).sum()) for t in thresholds]) for each in scored]
        bounds = clopper_pearson(hits[0], hits[1], samples, level, delta)
        if bounds.max() > best[0]:
            best = (float(bounds.max()), score, float(thresholds[bounds.argmax()]))
    return lambda drawn: best[1](drawn) >= best[2]


_QUANTILES = np.concatenate([np.linspace(0.3, 0.95, 40), 1 - np.geomspace(0.05, 0.002, 20)])


def _flat(rows: Rows) -> Floats:
    return np.zeros(len(rows))


def _scores(mechanism: Mechanism, case: Case, training: Sequence[Rows]) -> Iterator[Score]:
    """Follow the mechanism; or try the likelihood ratio of independent noise of its law, and how far one row goes.

    Both are tried on running sums too. A single row shows noise that ends too early, which no likelihood ratio does.
    """
    follow = follower(mechanism, case)
    if follow is not None:
        yield lambda rows: np.array([follow(row).gain for row in rows])
        return
    shown = [exact_rows(mechanism, table) for table in case.aggregates]
    for seen in _VIEWS:
        first, second = (seen(row) for row in shown)
        off = [np.abs(seen(np.array(drawn)) - exact) for drawn, exact in zip(training, (first, second), strict=True)]
        spread = np.maximum(np.concatenate(off).mean(axis=0), 0.05)
        yield _likelihood_ratio(seen, first, second, spread, 2 if mechanism.counted_in is RHO else 1)
        yield _how_far(seen, (first - second) / spread)


_VIEWS: tuple[Callable[[npt.NDArray[Any]], Floats], ...] = (
    lambda rows: rows.astype(np.float64),
    lambda rows: np.cumsum(rows, axis=-1).astype(np.float64),
)


def _likelihood_ratio(seen: Any, first: Floats, second: Floats, spread: Floats, power: int) -> Score:
    """Score by the logarithm of a probability: proportional to the deviation for Laplace noise, else to its square."""
    moved = np.flatnonzero(first != second)

    def score(rows: Rows) -> Floats:
        view = seen(np.array(rows))[:, moved]
        gain = np.abs(view - second[moved]) ** power - np.abs(view - first[moved]) ** power
        # Equal outputs must score equally, whatever the order of additions did to the last digit.
        return np.round((gain / spread[moved] ** power).sum(axis=1), 9)

    return score


def _how_far(seen: Any, moves: Floats) -> Score:
    row = int(np.abs(moves).argmax())
    return lambda rows: np.sign(moves[row]) * seen(np.array(rows))[:, row]


@lru_cache(maxsize=256)
def shown_loss(case: Case) -> float:
    """Estimate the loss that an attacker can see on the two tables, to find cases that show much.

    It goes by the noise that is certified. Noise that is too small must not lead the audit away from where it shows.
    """
    follow = follower(case.mechanism, case)
    if follow is not None:
        seen = np.mean([follow(row).loss for row in outputs(case.mechanism, case.aggregates[0], _FOLLOWED)])
        return case.promise(Fraction(float(seen)))
    lost, scales = case.promise(case.lost(case.mechanism)), case.mechanism.certify(case.policy).scales
    if case.mechanism.counted_in is RHO:
        return lost
    first, second = (exact_rows(case.mechanism, table) for table in case.aggregates)
    return min(lost, float(np.abs(first - second).sum() / float(scales[0]))) if len(scales) == 1 else lost


_FOLLOWED = 40


# The results of an audit: one finding for each test, one verdict for each mechanism, and the report.

FALSE_ALARMS = 1e-4
"""The probability that an audit of sound mechanisms raises any alarm, at most: its tests share it equally."""
TELLING = 0.5
"""An audit says something about a mechanism when a bound reaches this part of a certificate."""
PARTS = 3
"""How many times as many samples are drawn where one part is halved, which is harder to see."""
WHOLE = "all noise halved"
WHOLE_WITH_FACTS = "all noise halved, known facts"


@dataclass(frozen=True)
class Finding:
    """The result of one test: the loss is above ``bound``, whatever the mechanism claims."""

    mechanism: str
    case: str
    seed: int
    mutant: str
    """Empty for the mechanism itself; else which part of its noise was halved."""
    claimed: float
    bound: float
    sharp: bool
    parts: int
    samples: int
    """How many outputs of each table were counted."""
    seconds: float
    """Of processor time."""

    @property
    def alarm(self) -> bool:
        """Whether the certificate is refuted."""
        return self.bound > self.claimed


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
    def telling(self) -> bool:
        """Whether some test of the mechanism itself came near enough to its certificate to say anything about it."""
        return self.largest >= TELLING

    @property
    def words(self) -> str:
        """Return the verdict in words."""
        return "passed" if self.passed else "FAILED" if self.telling or self.alarms else "FAILED: not telling"

    @property
    def passed(self) -> bool:
        """No certificate refuted, a test that tells something, and every mutant caught at least once."""
        owed = [caught for caught, _ in self.mutants.values()]
        return bool(self.tests and owed) and self.telling and not self.alarms and all(owed)


def verdict(name: str, findings: Sequence[Finding]) -> Verdict:
    """Sum up the tests of one mechanism."""
    tests = [finding for finding in findings if finding.mechanism == name]
    real = [finding for finding in tests if not finding.mutant]
    kinds = dict.fromkeys(finding.mutant for finding in tests if finding.mutant)
    mutants = {kind: [finding.alarm for finding in tests if finding.mutant == kind] for kind in kinds}
    return Verdict(
        name,
        len(real),
        max((finding.bound / finding.claimed for finding in real), default=0.0),
        tuple(finding for finding in real if finding.alarm),
        {kind: (sum(caught), len(caught)) for kind, caught in mutants.items()},
        sum(finding.seconds for finding in tests),
    )


def report(verdicts: Sequence[Verdict], samples: int) -> str:
    """Write the report in Markdown."""
    lines = [
        "# Privacy audit",
        "",
        f"Every mechanism on neighbouring tables of random policies: {samples:,} outputs of each table for a test,",
        f"fewer where they are slow, {PARTS} times as many where one part of the noise is halved (see report.json),",
        f"besides {int(100 * TRAINING)} % as many to choose the event. Sound mechanisms raise an alarm in at most one",
        f"run out of {1 / FALSE_ALARMS:,.0f}. To pass, a test of the mechanism itself must reach {TELLING:g} of its",
        "certificate, and its mutants must be caught; a sound mechanism can miss these by chance.",
        "Seconds are of a processor.",
        "",
        "| mechanism | tests | largest bound / certificate | refuted | half the noise, caught | seconds | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in verdicts:
        caught = "; ".join(f"{kind}: {hits} of {many}" for kind, (hits, many) in one.mutants.items())
        share = f"{one.largest:.2f}"
        cells = [one.mechanism, one.tests, share, len(one.alarms), caught, f"{one.seconds:.0f}", one.words]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    for alarm in (alarm for one in verdicts for alarm in one.alarms):
        lines.append(
            f"\n**Refuted**: {alarm.mechanism}, {alarm.case}, seed {alarm.seed}: the loss is above {alarm.bound:.3f}, "
            f"the certificate says {alarm.claimed:g}."
        )
    return "\n".join([*lines, ""])


SAMPLES = 20_000
_SEEDS = 80
_SLOW_CASES = 4
"""Where an output takes milliseconds, fewer cases are looked at."""
_VISIBLE = Fraction(7, 5)
"""A mutant is tried where it loses so many times what is certified."""
Test = tuple[str, int, int | None, int]
"""Mechanism, seed, mutant (-1: none, a part, or None for all parts), and how many times the samples are drawn."""


def run_test(name: str, seed: int, mutant: int | None, times: int, samples: int, level: float) -> Finding | None:
    """Test the case of a seed; ``mutant`` is -1 for the mechanism itself, a part, or None for all parts halved.

    The bound that is found is wrong with probability ``level`` at most.
    """
    start = process_time()
    try:
        case = make_case(name, seed)
        if case is None:
            return None
        mechanism = case.mechanism if mutant == -1 else weakened(case, mutant)
        samples = affordable(mechanism, case, times * samples)
        bound = lower_bound(mechanism, case, samples=samples, level=level)
    except Exception as error:
        error.add_note(f"That was the test of {name}, seed {seed}, mutant {mutant}.")
        raise
    whole = WHOLE_WITH_FACTS if case.policy.known else WHOLE
    said = {-1: "", None: whole}.get(mutant, f"part {mutant} halved")
    claimed, many = case.promise(case.claimed), parts(case.mechanism)
    return Finding(name, case.words, seed, said, claimed, bound, case.sharp, many, samples, process_time() - start)


def listed_tests(name: str, cases: int, mutants: int) -> list[Test]:
    """List the tests of a mechanism: its cases, its noise halved where that shows, and itself on the same tables."""
    cases_by_seed = {seed: case for seed in range(_SEEDS) if (case := make_case(name, seed)) is not None}
    sharp = {seed: case for seed, case in cases_by_seed.items() if case.sharp and not case.policy.known}
    sharp_with_facts = {seed: case for seed, case in cases_by_seed.items() if case.sharp and case.policy.known}
    most = max((parts(case.mechanism) for case in sharp.values()), default=0)
    tests: list[Test] = []
    telling: dict[int, int] = {}
    # Where the certificate is an upper bound, one part with half its noise may lose no more than it.
    alone = most if most > 1 and MECHANISMS[name].independent_rows else 0
    for candidates, part in ((sharp, None), (sharp_with_facts, None), *((sharp, part) for part in range(alone))):
        times = 1 if part is None else PARTS
        for seed in showing(candidates, part, mutants):
            tests.append((name, seed, part, times))
            telling[seed] = max(times, telling.get(seed, 0))
    tests += [(name, seed, -1, times) for seed, times in telling.items()]
    cases = min(cases, _SLOW_CASES) if name in IN_ROUNDS else cases
    facts = [seed for seed, case in cases_by_seed.items() if case.policy.known][: cases // 2]
    others = [seed for seed, case in cases_by_seed.items() if not case.policy.known][: cases - len(facts)]
    return tests + [(name, seed, -1, 1) for seed in (*facts, *others) if seed not in telling]


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
        return case.promise(case.claimed) - 2 * shown_loss(case) + case.mechanism.rows / 10

    return sorted(tried, key=hidden)[:many]


def audit(names: Sequence[str], *, cases: int, mutants: int, samples: int, workers: int, seen: Any) -> list[Finding]:
    """Run all tests over several processes."""
    with closing(finished(listed_tests, [(name, cases, mutants) for name in names], workers)) as listed:
        by_name = {task[0]: tests_of_one for task, tests_of_one in listed}
    tests = [test for name in names for test in by_name[name]]
    # Which tests there are is settled before an output is drawn, so they share the probability of a false alarm.
    level = FALSE_ALARMS / max(1, len(tests))
    findings: list[Finding] = []
    with closing(finished(run_test, [(*test, samples, level) for test in tests], workers)) as results:
        for _, finding in results:
            if finding is not None:
                findings.append(finding)
            seen(len(tests))
    return sorted(findings, key=lambda finding: (finding.mechanism, finding.mutant, finding.seed))


@click.command()
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("audit-report"), show_default=True
)
@click.option("--mechanism", "names", multiple=True, type=click.Choice(list(MECHANISMS)), help="Default: all.")
@click.option("--cases", default=16, show_default=True, help="Random policies for each mechanism.")
@click.option("--mutants", default=3, show_default=True, help="Cases in which noise is halved.")
@click.option(
    "--samples", type=click.IntRange(10), default=SAMPLES, show_default=True, help="Outputs of each table for one test."
)
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
def main(out: Path, names: tuple[str, ...], cases: int, mutants: int, samples: int, workers: int) -> None:
    """Audit mechanisms and write report.md and report.json; fail when a certificate is refuted."""
    done = 0

    def seen(total: int) -> None:
        nonlocal done
        done += 1
        click.echo(f"\rTests: {done} of {total}", nl=False, err=True)

    click.echo("Choosing the tests ...", err=True)
    chosen = names or tuple(MECHANISMS)
    findings = audit(chosen, cases=cases, mutants=mutants, samples=samples, workers=workers, seen=seen)
    click.echo("", err=True)
    verdicts = [verdict(name, findings) for name in chosen]
    out.mkdir(parents=True, exist_ok=True)
    text = report(verdicts, samples)
    write_atomically(out / "report.md", text.encode())
    written = {
        "false_alarm_rate": FALSE_ALARMS,
        "samples asked for": samples,
        "tests": [asdict(one) for one in findings],
    }
    write_atomically(out / "report.json", json.dumps(written, indent=2).encode())
    click.echo(text)
    sys.exit(not all(one.passed for one in verdicts))


if __name__ == "__main__":
    main()
