"""``blowfish demo attack``: noise that ignores what is public is averaged away."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from blowfish_privacy.cli.demonstration import new_folder, say, title
from blowfish_privacy.cli.output import as_json, print_json, print_table
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError
from blowfish_privacy.support.exact import positive, rounded, rounded_up, show
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task

if TYPE_CHECKING:
    from blowfish_lab.audit.averaging import Attacked, Comparison
    from blowfish_privacy.mechanisms import Error
    from blowfish_privacy.noise import BitSource

LENGTHS = (2, 4, 8, 16, 32, 64, 128)
_SHOWN = 8


@click.command()
@click.option("--out", type=click.Path(file_okay=False), default="demo-output-attack", help="The folder to leave.")
@click.option("--epsilon", default="1", show_default=True, help="The privacy loss that each release promises.")
@click.option("--runs", type=click.IntRange(1, 20_000), default=1000, show_default=True, help="Releases to attack.")
@click.option("--seed", type=click.IntRange(0), help="Repeatable noise, to check numbers; without it, real noise.")
@as_json
def attack(out: str, epsilon: str, runs: int, seed: int | None, as_json: bool) -> None:  # noqa: FBT001
    """Average away noise that ignores public sums.

    On synthetic data, where sums of adjacent cells are public: plain differentially private counts are averaged into
    near-exact ones; those of a policy that names the sums are not.
    """
    from blowfish_lab.audit.averaging import compare, first_cell_mechanism
    from blowfish_lab.audit.averaging_picture import draw_averaging_attack
    from blowfish_privacy.results.pictures.figure import png

    amount = positive(epsilon, "epsilon", error=SpecError)
    source = _source(seed)
    with task(f"Attacking {2 * runs * len(LENGTHS):,} releases"):
        example = _example(LENGTHS[-1], amount, source)
        comparisons = [compare(cells, amount, runs=runs, source=source) for cells in LENGTHS]
        picture = new_folder(out) / "attack.png"
        write_atomically(picture, png(draw_averaging_attack(comparisons)))
    remedy = first_cell_mechanism(LENGTHS[-1], amount).expected_error()
    if as_json:
        about = {"epsilon": show(amount), "runs": runs, "randomness": source.kind, "picture": str(picture)}
        print_json({**about, **_document(comparisons, example, remedy)})
        return
    _tell(rounded_up(amount), runs, comparisons, example, remedy)
    echo(f"\n{picture}: the attacker's error against the number of cells")


def _source(seed: int | None) -> BitSource:
    if seed is None:
        from blowfish_privacy.noise import SystemSource

        return SystemSource()
    from blowfish_privacy.testing.seeded import SeededSource

    return SeededSource(seed)


def _example(cells: int, epsilon: Fraction, source: BitSource) -> list[dict[str, Any]]:
    """Release one chain once in each way, attack both releases, and return the first cells."""
    from blowfish_lab.audit import averaging

    counts = averaging.synthetic_counts(cells)
    sums = averaging.adjacent_sums(counts)
    columns: dict[str, Any] = {"cell": range(1, cells + 1), "people": counts.tolist(), "with_next": sums.tolist()}
    for name, policy in (("plain", averaging.plain_policy(cells)), ("known", averaging.chain_policy(cells))):
        noisy = averaging.mechanism_for(policy, epsilon).measure(counts, source)
        columns |= {name: noisy.tolist(), f"{name}_guess": averaging.guess(noisy, sums).round(2).tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*(v[:_SHOWN] for v in columns.values()), strict=True)]


def _document(comparisons: list[Comparison], example: list[dict[str, Any]], remedy: Error) -> dict[str, Any]:
    def written(one: Attacked) -> dict[str, Any]:
        return {**asdict(one), "scale": show(one.scale), "loss": show(one.loss)}

    return {
        "example": example,
        "sizes": [{"cells": r.cells, "plain": written(r.plain), "known": written(r.known)} for r in comparisons],
        "first_cell_alone": {"error_expected": remedy.rmse},
    }


def _tell(epsilon: str, runs: int, comparisons: list[Comparison], example: list[dict[str, Any]], remedy: Error) -> None:
    last = comparisons[-1]
    plain, known = (rounded(each.scale) for each in (last.plain, last.known))
    lost, kept = (rounded_up(each.loss) for each in (last.plain, last.known))
    title("1. What everybody knows")
    say(
        f"A synthetic table has {last.cells} cells of people, the first {_SHOWN} of them below. How many people a cell "
        "has is secret; how many it has together with the next one is public. Two releases add noise to every cell "
        f"and promise a privacy loss of {epsilon}: plain differential privacy (noise of scale {plain})"
        f", and a Blowfish policy that names the public sums (scale {known}). The attacker works out "
        f"the first cell from every noisy cell through the public sums, averages those {last.cells} estimates, and "
        "works back to each cell."
    )
    echo()
    print_table(
        ["cell", "people", "with the next (public)", "plain", "attacker's guess", "Blowfish", "attacker's guess"],
        [[f"{value:.2f}" if isinstance(value, float) else value for value in row.values()] for row in example],
    )
    title(f"2. How close the attacker comes, over {runs:,} releases of each kind")
    say("Typical (root mean squared) errors in people as measured; in brackets what theory expects.")
    echo()
    print_table(
        ["cells", "plain: one cell", "averaged", "all counts right", "real loss", "Blowfish: averaged", "all right"],
        [
            [
                row.cells,
                _pair(row.plain.one_cell, row.plain.one_cell_expected),
                _pair(row.plain.averaged, row.plain.averaged_expected),
                f"{row.plain.recovered:.0%}",
                rounded_up(row.plain.loss),
                _pair(row.known.averaged, row.known.averaged_expected),
                f"{row.known.recovered:.0%}",
            ]
            for row in comparisons
        ],
    )
    title("3. What it means")
    say(
        "Plain differential privacy hides one person who moves alone. Under the public sums nobody moves alone: if one "
        "cell changes, every cell does. So k noisy cells tell k times about the same number, averaging cuts the error "
        f"by sqrt(k), and the promised privacy loss of {epsilon} is really k/2 times as much: {lost} "
        f"with {last.cells} cells. (With 2 cells the sum is the number of people, which is public anyway.)"
    )
    say(
        f"The policy that names the sums asks for noise of scale k/epsilon, and its loss is {kept}, "
        "whatever the attacker computes. From 4 cells on, the averaged guess is no better than one plain count that "
        "nobody can average, and more cells only make it worse."
    )
    say(
        "If the sums are public, do not release every cell. Release the first one: by itself it needs little noise "
        f"(typical error {remedy.rmse:.2f}), and the sums give everybody all others with the same error, for the same "
        f"privacy loss of {epsilon}."
    )


def _pair(measured: float, expected: float) -> str:
    return f"{measured:.2f} ({expected:.2f})"
