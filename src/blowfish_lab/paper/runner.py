"""Running figures: over several processes, keeping every finished point, writing picture, table and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from blowfish_lab.paper.data import fingerprints
from blowfish_lab.paper.examples import AveragingExample, MarginalsExample, PolicyGraphExample, RectanglesExample
from blowfish_lab.paper.figure import Figure, FigureRun, Measured, Point, Row
from blowfish_lab.paper.figure_1 import Figure1a, Figure1b, Figure1c, Figure1d, Figure1e, Figure1f
from blowfish_lab.paper.figure_2 import Figure2b, Figure2c
from blowfish_privacy.results.pictures.figure import png
from blowfish_privacy.support.csv_tables import csv_table
from blowfish_privacy.support.files import make_folder, write_atomically
from blowfish_privacy.support.progress import finished

# Every figure and example of the reproduction, by name; each is in a separate file.

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        PolicyGraphExample(),
        MarginalsExample(),
        RectanglesExample(),
        AveragingExample(),
        Figure2b(),
        Figure2c(),
        Figure1a(),
        Figure1b(),
        Figure1c(),
        Figure1d(),
        Figure1e(),
        Figure1f(),
    )
}
"""In the order in which they are run: the quick ones first."""


@dataclass(frozen=True)
class Produced:
    """A finished figure, the rows of its table, and the folder with its files."""

    figure: Figure
    rows: list[Row]
    folder: Path


def reproduce(
    names: Iterable[str], run: FigureRun, out: Path, *, workers: int, seen: Callable[[int, int], None]
) -> list[Produced]:
    """Measure every point that is not in the output folder yet, and write each figure when it has all of its points."""
    chosen = [FIGURES[name] for name in names]
    make_folder(out)
    identities = {figure.name: run.identity(fingerprints(run, figure.real_data)) for figure in chosen}
    todo = [(figure, point) for figure in chosen for point in figure.points(run)]
    points: dict[tuple[str, Point], Measured] = {}
    missing: list[tuple[Figure, Point]] = []
    for figure, point in todo:
        kept = _kept(_file(out, figure, point, run), figure, point, identities[figure.name])
        if kept is None:
            missing.append((figure, point))
        else:
            points[figure.name, point] = kept
    seen(len(todo) - len(missing), len(todo))
    left = Counter(figure.name for figure, _ in missing)
    made = {figure.name: _write(figure, points, run, out) for figure in chosen if not left[figure.name]}
    tasks = [(figure.name, point, run) for figure, point in missing]
    with closing(finished(measure, tasks, workers)) as results:
        for (name, point, _), measured in results:
            figure = FIGURES[name]
            file = _file(out, figure, point, run)
            make_folder(file.parent)
            written = {"run": identities[name], "point": point, "measured": measured}
            write_atomically(file, json.dumps(written, indent=1).encode())
            points[name, point] = measured
            seen(len(points), len(todo))
            left[name] -= 1
            if not left[name]:
                made[name] = _write(figure, points, run, out)
    return [made[figure.name] for figure in chosen]


def measure(name: str, point: Point, run: FigureRun) -> Measured:
    """Measure one point of a figure, in a worker process."""
    start = perf_counter()
    measured = FIGURES[name].measure(point, run)
    return {**measured, "seconds": round(perf_counter() - start, 3)}


def _file(out: Path, figure: Figure, point: Point, run: FigureRun) -> Path:
    words = " ".join(point)
    plain = "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in words)
    return out / figure.name / run.kept_in / f"{plain[:80]}-{sha256(words.encode()).hexdigest()[:8]}.json"


def _kept(file: Path, figure: Figure, point: Point, identity: dict[str, Any]) -> Measured | None:
    """Read a finished point, if it is this one and made in the same way; a damaged file counts as none."""
    try:
        written: Any = json.loads(file.read_text())
        same = written["run"] == identity and written["point"] == [*point]
        measured: Any = written["measured"] if same else None
        return measured if figure.complete(measured) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _write(figure: Figure, points: dict[tuple[str, Point], Measured], run: FigureRun, out: Path) -> Produced:
    measured_points = {point: measured for (name, point), measured in points.items() if name == figure.name}
    drawn = figure.rows(measured_points, run)
    # Columns that begin with an underscore are for the picture only.
    rows = [{name: value for name, value in row.items() if not name.startswith("_")} for row in drawn]
    folder = out / figure.name
    make_folder(folder)
    header = list(dict.fromkeys(column for row in rows for column in row))
    labels = {"data": "synthetic" if run.synthetic else "real"} if figure.real_data else {}
    cells = [[*labels.values(), *(row.get(column, "") for column in header)] for row in rows]
    write_atomically(folder / f"figure-{figure.name}.csv", csv_table([*labels, *header], cells))
    write_atomically(folder / f"figure-{figure.name}.png", png(figure.picture(drawn, run)))
    write_atomically(folder / f"figure-{figure.name}.md", table(figure, rows, run).encode())
    return Produced(figure, rows, folder)


def table(figure: Figure, rows: list[Row], run: FigureRun) -> str:
    """Write the short table in Markdown, quartiles and median beside their mean."""
    columns = dict.fromkeys(column for row in rows for column in row)
    header = [column for column in columns if not column.endswith(_SPREAD)]
    said = [f"{figure.units()} Seconds: of computing.", *(["A quick run."] if run.quick and figure.shrinks else [])]
    lines = [f"# {figure.title}", "", *(f"{note}\n" for note in [*said, *figure.notes(run)])]
    lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(row, column) for column in header) + " |" for row in rows]
    summary = figure.summary(rows)
    return "\n".join([*lines, *(["", *(f"- {line}" for line in summary)] if summary else []), ""])


_SPREAD = (", lower quartile", ", median", ", upper quartile")


def _cell(row: Row, column: str) -> str:
    spread = [shown(row[f"{column}{name}"]) for name in _SPREAD if f"{column}{name}" in row]
    return f"{shown(row.get(column, ''))} ({', '.join(spread)})" if spread else shown(row.get(column, ""))


def shown(value: object) -> str:
    """Write a number with the digits that mean something."""
    if not isinstance(value, float):
        return str(value)
    return f"{float(f'{value:.4g}'):,.0f}" if 1000 <= abs(value) < _LARGE else f"{value:.4g}"


_LARGE = 1e12
