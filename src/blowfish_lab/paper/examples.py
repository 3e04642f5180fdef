"""Examples of section 8: known counts, the printed sensitivity of the histogram, and the derived one."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from blowfish_lab.paper.figure import Figure, Measured, Point, Row, is_number
from blowfish_lab.paper.run import Run
from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.known_facts.facts import KnownMarginal
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import Compensation
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity
from blowfish_privacy.queries import Histogram
from blowfish_privacy.testing.oracle import are_neighbours

PRINTED = "printed"
BOUND = "2 max(alpha, xi)"
ALONG = "ours, secret-moves"
ANYWHERE = "ours, default"
CHECKED = "attained by neighbours"
_RELATIONS: dict[str, Compensation] = {ALONG: "secret-moves", ANYWHERE: "anywhere"}
_READING = (
    "Printed: in the paper. Ours is derived: when a record changes along a secret pair, others change too and keep the "
    "known counts as they are; under secret-moves along secret pairs again, by default in any way."
)
_HATCHED = "Hatched: a bound that may not be attained."


@dataclass(frozen=True)
class Example:
    """A policy with known counts, and the sensitivity of its histogram according to the paper."""

    words: str
    printed: int
    source: str
    """Where the paper says so."""
    options: dict[str, Any]
    """What makes the policy, but for the compensation."""

    def policy(self, compensation: Compensation) -> Policy:
        """Make the policy, with one of the two rules for how other records may compensate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BlowfishWarning)
            return Policy(**self.options, compensation=compensation)


class Examples(Figure):
    """A figure that compares printed and derived sensitivities, example by example."""

    shrinks = False

    @abstractmethod
    def examples(self) -> list[Example]:
        """List the examples."""

    def points(self, run: Run) -> list[Point]:
        """One point for each example."""
        return [(example.words,) for example in self.examples()]

    def measure(self, point: Point, run: Run) -> Measured:
        """Derive the sensitivity under both relations, and check by the definition what attains it."""
        example = next(each for each in self.examples() if each.words == point[0])
        measured: Measured = {"bound": policy_graph(example.policy("secret-moves")).bound}
        checked: list[str] = []
        for column, compensation in _RELATIONS.items():
            policy = example.policy(compensation)
            try:
                derived = sensitivity(Histogram(*policy.domain.names), policy)
            except RefusalError:
                measured[column] = "refused"
                continue
            measured[column] = int(derived.value) if derived.exact else f"at most {int(derived.value)}"
            if derived.exact:
                checked.append("yes" if attains(policy, derived) else "NO")
        return {**measured, "checked": " / ".join(checked)}

    def complete(self, measured: Measured) -> bool:
        """Say whether the bound, the sensitivities and their check were kept."""
        bound, derived = measured.get("bound", ""), [measured.get(name) for name in _RELATIONS]
        return (
            super().complete(measured)
            and (bound is None or is_number(bound))
            and all(is_number(value) or isinstance(value, str) for value in derived)
            and isinstance(measured.get("checked"), str)
        )

    def units(self) -> str:
        """State the units of the sensitivities."""
        return "Sensitivities: the largest sum of changes of all counts of the histogram, in records."

    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """One row for each example."""
        made: list[Row] = []
        for example in self.examples():
            point = measured[example.words,]
            made.append(
                {
                    "example": example.words,
                    PRINTED: example.printed,
                    "where": example.source,
                    BOUND: point["bound"] if point["bound"] is not None else "not sparse",
                    ALONG: point[ALONG],
                    ANYWHERE: point[ANYWHERE],
                    CHECKED: point["checked"],
                    "seconds": point["seconds"],
                }
            )
        return made

    def picture(self, rows: list[Row], run: Run) -> Any:
        """Draw bars: printed, and derived under both relations."""
        from blowfish_lab.paper.bars import draw_bars

        columns = {PRINTED: "tab:red", ALONG: "tab:blue", ANYWHERE: "tab:cyan"}
        hatched = any(isinstance(row[column], str) for row in rows for column in columns)
        caption = " ".join([self.units(), *self.notes(run), _READING, *([_HATCHED] if hatched else [])])
        labels = [row["example"] for row in rows]
        return draw_bars(labels, rows, columns, self.title, "sensitivity of the histogram", caption)


def attains(policy: Policy, claimed: Sensitivity) -> bool:
    """Say whether the records that are said to attain a sensitivity make neighbours by the definition, and do."""
    if claimed.witness is None:
        return not claimed.value
    before, after = (tuple(policy.domain.cell(_whole(policy, record)) for record in side) for side in claimed.witness)
    # Those who stay fill stated counts up; the witness holds only those who move.
    stays = [KnownMarginal(*fact.attributes) if isinstance(fact, KnownMarginal) else fact for fact in policy.known]
    return (
        are_neighbours(replace(policy, known=tuple(stays)), before, after) and _change(before, after) == claimed.value
    )


def _whole(policy: Policy, record: dict[str, Any]) -> dict[str, Any]:
    rest = {name: policy.domain[name].value(0) for name in policy.domain}
    return {**rest, **record}


def _change(before: tuple[Cell, ...], after: tuple[Cell, ...]) -> int:
    net = Counter(before)
    net.subtract(Counter(after))
    return sum(map(abs, net.values()))
