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
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import click

from blowfish_lab.audit.attacker import TRAINING, affordable, lower_bound, shown_loss
from blowfish_lab.audit.cases import IN_ROUNDS, Case, make_case, parts, weakened
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import finished

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
