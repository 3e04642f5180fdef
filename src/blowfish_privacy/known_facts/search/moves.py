"""The moves of a record between classes, as a search over all sets of moves needs them: effect, price, secret pair."""

from __future__ import annotations

from collections.abc import Iterator

from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.classes import Ints
from blowfish_privacy.known_facts.classes.setting import Setting, change
from blowfish_privacy.known_facts.classes.spans import Scalar, Span, candidates
from blowfish_privacy.known_facts.search.atoms import Move
from blowfish_privacy.queries.query import LinearForm


def _pairs(here: Setting, signs: Ints) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Go through the moves between live classes, with their effects."""
    for one, a in enumerate(here.labels.tolist()):
        for other, b in enumerate(here.labels.tolist()):
            if a != b:
                yield a, b, tuple((signs[other] - signs[one]).tolist())


def scalar_moves(here: Setting, signs: Ints, scalar: Scalar, widest: int) -> Iterator[Move]:
    """Price moves by the change of a number between the ends of the classes; a secret pair by its own."""
    number = {int(label): place for place, label in enumerate(here.labels)}
    for a, b, effect in _pairs(here, signs):
        yield Move(effect, (), int(scalar.high[b] - scalar.low[a]), (a, b))
        if here.crossing.listed is None:
            edge = (scalar.lowest(a), scalar.highest(b))
            sure = here.crossing.graph.adjacent(*edge)
            weight = int(scalar.high[b] - scalar.low[a])
            yield Move(effect, (), weight if sure else min(widest, weight), (a, b), edge, sure)
    if here.crossing.listed is None:
        ranges = scalar.high - scalar.low
        for a in number:
            edge = (scalar.lowest(a), scalar.highest(a))
            yield Move((0,) * signs.shape[1], (), min(widest, int(ranges[a])), (a, a), edge, certain=False)
        return
    for arc in here.crossing.listed:
        if arc.source in number and arc.target in number:
            effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
            weight = scalar.value(arc.y) - scalar.value(arc.x)
            yield Move(effect, (), weight, (arc.source, arc.target), (arc.x, arc.y))


def vector_moves(here: Setting, signs: Ints, form: LinearForm, seen: Span, widest: int) -> Iterator[Move]:
    """Price moves by the whole diameter; a histogram that sees every class counts what enters and leaves each."""
    number = {int(label): place for place, label in enumerate(here.labels)}
    alone = [label for label in number if seen.injective and not seen.diameters[label]]

    def move(a: int, b: int, effect: tuple[int, ...], secret: Edge | None, *, certain: bool, most: int) -> Move:
        if not seen.injective:
            return Move(effect, (), most, (a, b), secret, certain)
        single = tuple((label == b) - (label == a) for label in alone)
        return Move(effect, single, (a not in alone) + (b not in alone), (a, b), secret, certain)

    for a, b, effect in _pairs(here, signs):
        yield move(a, b, effect, None, certain=True, most=seen.between(a, b))
        if here.crossing.listed is None:
            most = min(widest, seen.between(a, b))
            yield move(a, b, effect, _between(here, a, b), certain=False, most=most)
    if here.crossing.listed is None:
        for a in number:
            edge = _between(here, a, a)
            most = min(widest, int(seen.diameters[a]))
            yield Move((0,) * signs.shape[1], (0,) * len(alone), most, (a, a), edge, certain=False)
        return
    for arc in here.crossing.listed:
        if arc.source in number and arc.target in number:
            edge = (arc.x, arc.y)
            if arc.source == arc.target:
                most = change(form, here.classes, [edge])
                zero = (0,) * signs.shape[1]
                yield Move(zero, (0,) * len(alone), most, (arc.source, arc.target), edge)
            else:
                effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
                moved = change(form, here.classes, [edge])
                yield move(arc.source, arc.target, effect, edge, certain=True, most=moved)


def _between(here: Setting, a: int, b: int) -> Edge:
    return candidates(here.classes, a)[0], candidates(here.classes, b)[-1]
