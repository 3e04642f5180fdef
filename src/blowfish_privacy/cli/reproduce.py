"""``blowfish reproduce``: the 2014 paper's figures and examples, beside what this library does."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from blowfish_privacy.cli.terminal import as_json, echo, print_json
from blowfish_privacy.errors import DataError, SpecError, nearest
from blowfish_privacy.support.progress import progress_to
from blowfish_privacy.support.text import count_of

if TYPE_CHECKING:
    from blowfish_lab.paper.runner import Produced


@click.command()
@click.argument("figure", required=False)
@click.option("--data", type=click.Path(), help="A folder with the paper's data; without it, synthetic stand-ins.")
@click.option("--out", type=click.Path(), default="reproduction", show_default=True)
@click.option("--quick", is_flag=True, help="Fewer values of epsilon, fewer repeats: minutes.")
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="one for each core")
@as_json
def reproduce(
    figure: str | None,
    data: str | None,
    out: str,
    quick: bool,  # noqa: FBT001
    workers: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Run FIGURE (1a to 1f, 2b, 2c, policy-graph, marginals, rectangles, averaging), or all of them.

    Writes a picture, a CSV and a short table for each. What is finished is kept in the output folder: run the same
    command again to go on after an interruption.
    """
    # Help, and a mistake in the arguments, need none of these.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from blowfish_lab.paper.figure import FigureRun
    from blowfish_lab.paper.runner import FIGURES
    from blowfish_lab.paper.runner import reproduce as run_figures

    if figure is not None and figure not in FIGURES:
        raise SpecError(f"there is no figure {figure!r}.", hint=nearest(figure, FIGURES))
    if data is not None and not Path(data).is_dir():
        raise DataError(f"{data} is not a folder.", hint="leave --data out for synthetic stand-ins.")
    if not out.strip():
        raise SpecError("--out names no folder.", hint="name one, or write --out . for the current one.")
    run = FigureRun(str(Path(data).resolve()) if data is not None else None, quick)
    start = perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # This bar is the only one: the steps of single points would draw over it.
    with progress_to(None), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Points", total=None)
        try:
            figures = run_figures(
                [figure] if figure is not None else list(FIGURES),
                run,
                Path(out),
                workers=workers,
                seen=lambda done, total: progress.update(task, completed=done, total=total),
            )
        except KeyboardInterrupt:
            progress.stop()
            echo(f"What is finished is kept in {out}; the same command goes on from there.", err=True)
            raise
    _show(figures, as_json=as_json, run_quick=quick)
    echo(f"{count_of(len(figures), 'figure')} in {out} after {perf_counter() - start:.0f} seconds.", err=True)


def _show(figures: list[Produced], *, as_json: bool, run_quick: bool) -> None:
    if as_json:
        print_json({one.figure.name: one.rows for one in figures})
        return
    for one in figures:
        file = one.folder / f"figure-{one.figure.name}.md"
        echo(file.read_text())
        worse = one.figure.worse_than_published(one.rows)
        for row in worse:
            named = ", ".join(f"{key} {row[key]}" for key in ("policy", "epsilon"))
            echo(f"Note: ours is above the published value at {named}.")
    if run_quick and any(one.figure.shrinks for one in figures):
        echo("A quick run: fewer points, and fewer repeats of each, than in a full one.")
