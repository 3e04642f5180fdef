"""Examples of section 8: known counts, the printed sensitivity of the histogram, and the derived one."""

from __future__ import annotations

import random
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import click

from blowfish_lab.audit.averaging import AttackComparison, Attacked, compare, draw_averaging_attack
from blowfish_lab.paper.figure import Figure, FigureRun, Measured, Point, Row, are_numbers, draw_bars, is_number
from blowfish_privacy.domain import Categorical, Cell, Domain, Integer
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.graphs import Attributes, DistanceThreshold, ExplicitGraph, FullDomain
from blowfish_privacy.known_facts.facts import KnownCount, KnownMarginal
from blowfish_privacy.known_facts.secret_moves import policy_graph
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import Compensation
from blowfish_privacy.privacy.sensitivity import Sensitivity, sensitivity
from blowfish_privacy.queries import Histogram
from blowfish_privacy.testing.oracle import Database, is_secret_move, move_together, satisfies

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

    def points(self, run: FigureRun) -> list[Point]:
        return [(example.words,) for example in self.examples()]

    def measure(self, point: Point, run: FigureRun) -> Measured:
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
        bound, derived = measured.get("bound", ""), [measured.get(name) for name in _RELATIONS]
        return (
            super().complete(measured)
            and (bound is None or is_number(bound))
            and all(is_number(value) or isinstance(value, str) for value in derived)
            and isinstance(measured.get("checked"), str)
        )

    def units(self) -> str:
        return "Sensitivities: the largest sum of changes of all counts of the histogram, in records."

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
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

    def picture(self, rows: list[Row], run: FigureRun) -> Any:
        columns = {PRINTED: "tab:red", ALONG: "tab:blue", ANYWHERE: "tab:cyan"}
        hatched = any(isinstance(row[column], str) for row in rows for column in columns)
        caption = " ".join([self.units(), *self.notes(run), _READING, *([_HATCHED] if hatched else [])])
        labels = [row["example"] for row in rows]
        return draw_bars(labels, rows, columns, self.title, "sensitivity of the histogram", caption)


def attains(policy: Policy, claimed: Sensitivity) -> bool:
    """Say whether the records that are said to attain a sensitivity make neighbours by the definition, and do."""
    if claimed.witness is None:
        return not claimed.value
    # What a witness does not name stays as it is.
    rest = {name: policy.domain[name].value(0) for name in policy.domain}
    before, after = ([policy.domain.cell({**rest, **record}) for record in side] for side in claimed.witness)
    net = Counter(before)
    net.subtract(after)
    # Those who stay fill stated counts up; the witness holds only those who move.
    return move_together(policy, [*zip(before, after, strict=True)]) and sum(map(abs, net.values())) == claimed.value


# Known marginals: full-domain and attribute secrets.


class MarginalsExample(Examples):
    """Theorems 8.4 and 8.5 where they hold, and where their equalities fail."""

    name = "marginals"
    title = "Known marginals: printed and derived sensitivity of the histogram"

    def examples(self) -> list[Example]:
        populated = KnownMarginal("a", counts={0: 2, 1: 0, 2: 1})
        return [
            _example("2 x 2 x 3, marginal of the first two, all pairs secret", 8, (2, 2, 3), KnownMarginal("a", "b")),
            _example("3 x 2, marginal (2, 0, 1) of the first, all pairs secret", 6, (3, 2), populated),
            _example("3 x 3, marginal of the first, one attribute secret", 6, (3, 3), KnownMarginal("a"), secret=False),
            _example("3 x 2, marginal of the first, one attribute secret", 6, (3, 2), KnownMarginal("a"), secret=False),
        ]


def _example(words: str, printed: int, shape: tuple[int, ...], fact: KnownMarginal, *, secret: bool = True) -> Example:
    domain = Domain({name: Integer(0, size - 1) for name, size in zip("abc", shape, strict=False)})
    secrets: Any = FullDomain() if secret else Attributes()
    source = "Theorem 8.4" if secret else "Theorem 8.5"
    return Example(words, printed, source, {"domain": domain, "secrets": secrets, "known": [fact]})


# The paper's policy-graph example: three attributes, the marginal of two of them known.


class PolicyGraphExample(Examples):
    """Figure 3 of the paper with its longest cycle and path."""

    name = "policy-graph"
    title = "The policy graph of a known marginal (the paper's example)"

    def examples(self) -> list[Example]:
        domain = Domain(A1=Categorical(["a1", "a2"]), A2=Categorical(["b1", "b2"]), A3=Categorical(["c1", "c2", "c3"]))
        options = {"domain": domain, "secrets": FullDomain(), "known": [KnownMarginal("A1", "A2")]}
        return [Example("marginal of A1 and A2 known, all pairs secret", 8, "section 8", options)]

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        graph = policy_graph(self.examples()[0].policy("secret-moves"))
        printed = {"alpha, printed": 4, "alpha": graph.alpha, "xi, printed": 1, "xi": graph.xi}
        return [{**row, **printed} for row in super().rows(measured, run)]

    def picture(self, rows: list[Row], run: FigureRun) -> Any:
        from blowfish_privacy.results.pictures.policy_graph import draw_policy_graph

        return draw_policy_graph(self.examples()[0].policy("secret-moves"))


# Known counts of rectangles: distance-threshold secrets.

Span = tuple[int, int]


class RectanglesExample(Examples):
    """Theorem 8.6 where it holds, and where its equality fails."""

    name = "rectangles"
    title = "Known counts of disjoint rectangles, theta = 1: printed and derived sensitivity of the histogram"

    def examples(self) -> list[Example]:
        row = [((x, x + 1), (2, 3)) for x in (1, 3, 5)]
        star = [((3, 3), (2, 3)), ((1, 2), (2, 2)), ((4, 5), (3, 3)), ((3, 3), (0, 1)), ((3, 3), (4, 5))]
        return [
            _boxes_example("one rectangle on 6 x 6", 4, "xy", 6, [((2, 3), (2, 3))]),
            _boxes_example("two rectangles far apart on 8 x 8", 4, "xy", 8, [((1, 2), (1, 2)), ((5, 6), (5, 6))]),
            _boxes_example("three rectangles in a row on 8 x 8", 8, "xy", 8, row),
            _boxes_example("five rectangles in a star on 7 x 7", 12, "xy", 7, star),
            _boxes_example("0 to 3, counts of {0, 1} and {2, 3}", 6, "v", 4, [((0, 1),), ((2, 3),)]),
            _boxes_example("0 to 5, counts of {0, 1} and {4, 5}", 4, "v", 6, [((0, 1),), ((4, 5),)]),
        ]

    def notes(self, run: FigureRun) -> list[str]:
        return ["Theta = 1: values next to each other are secret pairs."]


def _boxes_example(words: str, printed: int, names: str, side: int, boxes: Sequence[tuple[Span, ...]]) -> Example:
    domain = Domain({name: Integer(0, side - 1) for name in names})
    known = [KnownCount(dict(zip(names, box, strict=True))) for box in boxes]
    options = {"domain": domain, "secrets": DistanceThreshold(1), "known": known}
    return Example(words, printed, "Theorem 8.6", options)


# The averaging attack of section 3.2: known sums of adjacent cells.

_NUMBERS = ("one_cell", "one_cell_expected", "averaged", "averaged_expected", "recovered")

_CELLS = (2, 4, 8, 16, 32, 64, 128)


class AveragingExample(Figure):
    """How close an attacker who knows the sums comes; all data in it are synthetic, as in the paper's argument."""

    name = "averaging"
    title = "The averaging attack on known sums of adjacent cells (synthetic counts)"

    def points(self, run: FigureRun) -> list[Point]:
        return [(str(cells),) for cells in (_CELLS[::2] if run.quick else _CELLS)]

    def measure(self, point: Point, run: FigureRun) -> Measured:
        comparison = compare(int(point[0]), 1, runs=300 if run.quick else 2_000, source=SystemSource())
        return {"plain": _written(comparison.plain), "known": _written(comparison.known)}

    def complete(self, measured: Measured) -> bool:
        try:
            attacks = [_read(measured[way]) for way in ("plain", "known")]
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return False
        finite = all(are_numbers(asdict(one), *_NUMBERS) and min(one.scale, one.loss) >= 0 for one in attacks)
        return super().complete(measured) and finite

    def units(self) -> str:
        return "Errors: root mean squared, in people. All counts found: a share of the releases. Losses: in epsilon."

    def rows(self, measured: Mapping[Point, Measured], run: FigureRun) -> list[Row]:
        made: list[Row] = []
        for point in self.points(run):
            attacks = measured[point]
            plain, known = attacks["plain"], attacks["known"]
            made.append(
                {
                    "cells": int(point[0]),
                    "plain: one cell": plain["one_cell"],
                    "plain: averaged": plain["averaged"],
                    "plain: averaged, expected": plain["averaged_expected"],
                    "plain: all counts found": plain["recovered"],
                    "plain: real loss": plain["loss"],
                    "ours: averaged": known["averaged"],
                    "ours: averaged, expected": known["averaged_expected"],
                    "ours: all counts found": known["recovered"],
                    "ours: real loss": known["loss"],
                    "seconds": attacks["seconds"],
                    "_attacks": attacks,
                }
            )
        return made

    def picture(self, rows: list[Row], run: FigureRun) -> Any:
        measured = [(row["cells"], row["_attacks"]) for row in rows]
        return draw_averaging_attack(
            [AttackComparison(cells, _read(attacks["plain"]), _read(attacks["known"])) for cells, attacks in measured]
        )


def _written(one: Attacked) -> dict[str, Any]:
    return {**asdict(one), "scale": str(one.scale), "loss": str(one.loss)}


def _read(written: dict[str, Any]) -> Attacked:
    fields: dict[str, Any] = {**written, "scale": Fraction(written["scale"]), "loss": Fraction(written["loss"])}
    return Attacked(**fields)


# Definition 4.1 of the paper, as printed and with its natural repairs, by exhaustion over small tables [he2014].
#
# Tables D1 and D2 that satisfy the facts are neighbours if T(D1, D2), the secret moves between them, is not empty,
# and no D3 that satisfies the facts has (a) T(D1, D3) strictly inside T(D1, D2), or (b) the same T and only some of
# the changes. With D3 = D1, whose T is empty, (a) always applies.
#
# ``python -m blowfish_lab.paper.examples`` counts the random policies under which a repair is not symmetric.


class Repair(Enum):
    """What condition 3(a) is read as."""

    NONE = "as printed"
    OTHER_TABLE = "D3 is another table than D1"
    OTHER_MOVES = "T(D1, D3) is not empty"


def tables(policy: Policy, records: int) -> list[Database]:
    """List all tables that satisfy the facts."""
    return [table for table in product(policy.domain.cells(), repeat=records) if satisfies(policy, table)]


def neighbours_of(policy: Policy, first: Database, repair: Repair) -> set[Database]:
    """Return all neighbours of a table by the printed definition, repaired."""
    by_moves: dict[frozenset[tuple[int, Cell, Cell]], list[tuple[Database, frozenset[tuple[int, Cell]]]]] = {}
    for third in tables(policy, len(first)):
        if third != first or repair is Repair.NONE:
            by_moves.setdefault(_moves(policy, first, third), []).append((third, _changes(first, third)))
    forbidding = [moves for moves in by_moves if moves or repair is not Repair.OTHER_MOVES]
    return {
        second
        for moves, alike in by_moves.items()
        if moves and not any(fewer < moves for fewer in forbidding)
        for second, changes in alike
        if not any(less < changes for _, less in alike)
    }


def _moves(policy: Policy, first: Database, second: Database) -> frozenset[tuple[int, Cell, Cell]]:
    pairs = enumerate(zip(first, second, strict=True))
    return frozenset((i, x, y) for i, (x, y) in pairs if x != y and is_secret_move(policy, x, y))


def _changes(first: Database, second: Database) -> frozenset[tuple[int, Cell]]:
    return frozenset(enumerate(first)) ^ frozenset(enumerate(second))


def asymmetric(policy: Policy, records: int, repair: Repair) -> tuple[Database, Database] | None:
    """Find a table with a neighbour whose neighbour it is not."""
    known: dict[Database, set[Database]] = {}

    def near(table: Database) -> set[Database]:
        if table not in known:
            known[table] = neighbours_of(policy, table, repair)
        return known[table]

    for first in combinations_with_replacement(policy.domain.cells(), records):
        for second in near(first) if satisfies(policy, first) else ():
            # Records are interchangeable: both tables in the order that sorts the second.
            order = sorted(range(records), key=second.__getitem__)
            if tuple(first[i] for i in order) not in near(tuple(second[i] for i in order)):
                return first, second
    return None


def random_policies(number: int, seed: int) -> Iterator[tuple[Policy, int]]:
    """Make policies of 3 or 4 values and 2 or 3 records, with random secret pairs and one or two known counts."""
    source = random.Random(seed)  # noqa: S311
    for _ in range(number):
        values, records = source.choice([3, 4]), source.choice([2, 3])
        every = [*combinations(range(values), 2)]
        pairs = source.sample(every, source.randint(1, len(every)))
        table = [source.randrange(values) for _ in range(records)]
        counted = [source.sample(range(values), source.randint(1, values - 1)) for _ in range(source.choice([1, 2]))]
        known = [KnownCount({"v": inside}, sum(value in inside for value in table)) for inside in counted]
        domain = Domain(v=Integer(0, values - 1))
        yield Policy(domain, secrets=ExplicitGraph(pairs), known=known, compensation="anywhere"), records


@click.command()
@click.option("--policies", "number", default=2_500, show_default=True, help="How many random policies.")
@click.option("--seed", default=1, show_default=True)
def main(number: int, seed: int) -> None:
    """Count the random policies under which a repaired definition of neighbours is not symmetric."""
    warnings.simplefilter("ignore", BlowfishWarning)
    policies = [*random_policies(number, seed)]
    for repair in (Repair.OTHER_TABLE, Repair.OTHER_MOVES):
        many = sum(asymmetric(policy, records, repair) is not None for policy, records in policies)
        click.echo(f"{repair.value}: not symmetric under {many:,} of {number:,} policies")


if __name__ == "__main__":
    main()
