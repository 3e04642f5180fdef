"""The results of an audit: one finding for each test, one verdict for each mechanism, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blowfish_lab.audit.attacker import TRAINING

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
