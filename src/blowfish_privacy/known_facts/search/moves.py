"""The possible moves of a record between classes, with effect, weight and secret pair, for :mod:`.atoms`."""

from __future__ import annotations

from collections.abc import Iterator

from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.known_facts.classes.change import change
from blowfish_privacy.known_facts.classes.fact_model import FactModel
from blowfish_privacy.known_facts.classes.scalars import Scalar
from blowfish_privacy.known_facts.classes.spans import Span, candidates
from blowfish_privacy.known_facts.search.atoms import Move
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.arrays import Integers


def _pairs(model: FactModel, signs: Integers) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the moves between live classes, with their effects."""
    for one, a in enumerate(model.live_classes.tolist()):
        for other, b in enumerate(model.live_classes.tolist()):
            if a != b:
                yield a, b, tuple((signs[other] - signs[one]).tolist())


def scalar_moves(model: FactModel, signs: Integers, scalar: Scalar, widest: int) -> Iterator[Move]:
    """Weigh a move by the largest change of a number between its classes, and a secret pair by its own change."""
    number = {int(label): index for index, label in enumerate(model.live_classes)}
    for a, b, effect in _pairs(model, signs):
        yield Move(effect, (), int(scalar.high[b] - scalar.low[a]), (a, b))
        if model.crossing.listed is None:
            edge = (scalar.lowest(a), scalar.highest(b))
            sure = model.crossing.graph.adjacent(*edge)
            weight = int(scalar.high[b] - scalar.low[a])
            yield Move(effect, (), weight if sure else min(widest, weight), (a, b), edge, sure)
    if model.crossing.listed is None:
        ranges = scalar.high - scalar.low
        for a in number:
            edge = (scalar.lowest(a), scalar.highest(a))
            yield Move((0,) * signs.shape[1], (), min(widest, int(ranges[a])), (a, a), edge, certain=False)
        return
    for arc in model.crossing.listed:
        if arc.source in number and arc.target in number:
            effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
            weight = scalar.value(arc.y) - scalar.value(arc.x)
            yield Move(effect, (), weight, (arc.source, arc.target), (arc.x, arc.y))


def vector_moves(model: FactModel, signs: Integers, form: LinearForm, span: Span, widest: int) -> Iterator[Move]:
    """Weigh a move by the largest change between its classes; if injective, count the classes it changes."""
    number = {int(label): index for index, label in enumerate(model.live_classes)}
    alone = [label for label in number if span.injective and not span.diameters[label]]

    def move(a: int, b: int, effect: tuple[int, ...], secret: Edge | None, *, certain: bool, most: int) -> Move:
        if not span.injective:
            return Move(effect, (), most, (a, b), secret, certain)
        single = tuple((label == b) - (label == a) for label in alone)
        return Move(effect, single, (a not in alone) + (b not in alone), (a, b), secret, certain)

    for a, b, effect in _pairs(model, signs):
        yield move(a, b, effect, None, certain=True, most=span.between(a, b))
        if model.crossing.listed is None:
            most = min(widest, span.between(a, b))
            yield move(a, b, effect, _between(model, a, b), certain=False, most=most)
    if model.crossing.listed is None:
        for a in number:
            edge = _between(model, a, a)
            most = min(widest, int(span.diameters[a]))
            yield Move((0,) * signs.shape[1], (0,) * len(alone), most, (a, a), edge, certain=False)
        return
    for arc in model.crossing.listed:
        if arc.source in number and arc.target in number:
            edge = (arc.x, arc.y)
            if arc.source == arc.target:
                most = change(form, model.classes, [edge])
                zero = (0,) * signs.shape[1]
                yield Move(zero, (0,) * len(alone), most, (arc.source, arc.target), edge)
            else:
                effect = tuple((signs[number[arc.target]] - signs[number[arc.source]]).tolist())
                moved = change(form, model.classes, [edge])
                yield move(arc.source, arc.target, effect, edge, certain=True, most=moved)


def _between(model: FactModel, a: int, b: int) -> Edge:
    return candidates(model.classes, a)[0], candidates(model.classes, b)[-1]
