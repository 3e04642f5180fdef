"""The law of packings by enumeration, and the law that a drawing function follows, branch by branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

DIGITS = 120


def packings(candidates: Sequence[tuple[int, int]], taken: int = 0, start: int = 0) -> Iterator[tuple[int, ...]]:
    """Go through all sets of candidates with disjoint masks, as ascending indices."""
    yield ()
    for index in range(start, len(candidates)):
        if not candidates[index][0] & taken:
            for rest in packings(candidates, taken | candidates[index][0], index + 1):
                yield index, *rest


def probabilities(candidates: Sequence[tuple[int, int]], coefficient: Fraction) -> dict[tuple[int, ...], Fraction]:
    """What every packing should have, to a hundred digits and more."""
    scores = {packing: sum(candidates[index][1] for index in packing) for packing in packings(candidates)}
    best = max(scores.values())
    with localcontext() as context:
        context.prec = DIGITS
        weights = {each: _exp(coefficient * (score - best)) for each, score in scores.items()}
        total = sum(weights.values())
        return {each: Fraction(weight / total) for each, weight in weights.items()}


def law_by_branches(draw: Callable[[Callable], object], bits: int) -> dict[object, tuple[Fraction, Fraction]]:
    """Follow every branch of ``draw(choose)`` and enclose the probability of each outcome."""
    law: dict[object, tuple[Fraction, Fraction]] = {}
    open_branches: list[list[int]] = [[]]
    while open_branches:
        path = open_branches.pop()
        chances = [Fraction(1), Fraction(1)]
        steps = iter(path)
        outcome = draw(partial(_follow, steps, path, chances, open_branches, bits))
        known = law.get(outcome, (Fraction(0), Fraction(0)))
        law[outcome] = (known[0] + chances[0], known[1] + chances[1])
    return law


def _follow(
    steps: Iterator[int], path: list[int], chances: list[Fraction], branches: list, bits: int, weights, _source
):
    """Stand in for ``choose``: go where the path says, and where it ends take 0 and leave the others for later."""
    enclosed = weights(bits)
    choice = next(steps, None)
    if choice is None:
        branches.extend([*path, other] for other in range(1, len(enclosed)))
        path.append(0)
        choice = 0
    largest = max(weight.exponent for weight in enclosed)
    # Far smaller than 10^-300 of the largest is as good as that.
    lows = [weight.low * Fraction(2) ** max(-1000, weight.exponent - largest) for weight in enclosed]
    highs = [weight.high * Fraction(2) ** max(-1000, weight.exponent - largest) for weight in enclosed]
    chances[0] *= lows[choice] / sum(highs)
    chances[1] *= highs[choice] / sum(lows)
    return choice


def _exp(power: Fraction) -> Decimal:
    return (Decimal(power.numerator) / power.denominator).exp()
