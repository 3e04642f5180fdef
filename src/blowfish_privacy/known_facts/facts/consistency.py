"""Whether known facts contradict each other, or the number of records.

Pairs of facts are compared first, because they give the clearest message. Then a linear program checks all stated
counts together: is there any table, with fractional counts allowed, that satisfies them? Values that are counted by the
same facts share one unknown. Facts that cut the domain into too many pieces for that are only compared in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from blowfish_privacy.domain import Box, Domain
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.known_facts.facts.known_count import CountedBox, KnownCount
from blowfish_privacy.known_facts.facts.known_fact import KnownFact
from blowfish_privacy.known_facts.facts.known_marginal import KnownMarginal

_MOST_PAIRWISE = 200
_MOST_PIECES = 20_000


def check_facts(domain: Domain, known: Sequence[KnownFact], stated_size: int | None) -> int | None:
    """Refuse facts that contradict each other; return the number of records if it follows from them."""
    size = _total(domain, known, stated_size)
    for fact in known:
        for counted in [] if isinstance(fact, KnownMarginal) else fact.counted(domain):
            if size is not None and counted.count is not None and counted.count > size:
                raise _contradiction(f"{fact.words(domain)} exceeds the number of records, {size:,}")
    if len(known) <= _MOST_PAIRWISE:
        for first, second in combinations(known, 2):
            _check_pair(domain, first, second, size)
    if len(known) > 2 or len({type(fact) for fact in known}) > 1:
        _check_together(domain, known, size)
    return size


def _check_pair(domain: Domain, first: KnownFact, second: KnownFact, size: int | None) -> None:
    if isinstance(first, KnownMarginal) and isinstance(second, KnownMarginal):
        _check_marginals(domain, first, second)
    elif isinstance(first, KnownCount) and isinstance(second, KnownCount):
        _check_counts(domain, first, second, size)
    elif isinstance(first, KnownMarginal) and isinstance(second, KnownCount):
        _check_mixed(domain, first, second)
    elif isinstance(first, KnownCount) and isinstance(second, KnownMarginal):
        _check_mixed(domain, second, first)


def _check_together(domain: Domain, known: Sequence[KnownFact], size: int | None) -> None:
    stated = [counted for fact in known for counted in fact.counted(domain) if counted.count is not None]
    if len(stated) < 3:
        return
    members = _pieces(domain, stated)
    if members is None:
        return
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    pieces, rows, columns = members
    rows, columns = [*rows, *([len(stated)] * pieces)], [*columns, *range(pieces)]
    counts = [float(counted.count or 0) for counted in stated] + [float(size or 0)]
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(stated) + 1, pieces))
    used = slice(None) if size is not None else slice(0, len(stated))
    solved = linprog(np.zeros(pieces), A_eq=table[used], b_eq=counts[used], bounds=(0, None), method="highs")
    if solved.status == 2:
        raise _contradiction("no table satisfies all of them together")


def _pieces(domain: Domain, stated: Sequence[CountedBox]) -> tuple[int, list[int], list[int]] | None:
    """Cut the domain into pieces, and list which fact counts which piece; None if there are too many pieces."""
    names = sorted({name for counted in stated for name in counted.box})
    cuts: list[list[int]] = []
    pieces = 1
    for name in names:
        ends = {0, *(end for c in stated if name in c.box for run in c.box[name].runs for end in run)}
        cuts.append(sorted(end for end in ends if end < domain[name].size))
        pieces *= len(cuts[-1])
        if pieces > _MOST_PIECES or pieces * len(stated) > 50 * _MOST_PIECES:
            return None
    rows: list[int] = []
    columns: list[int] = []
    for piece, cell in enumerate(product(*cuts)):
        positions = dict(zip(names, cell, strict=True))
        for fact, counted in enumerate(stated):
            if all(positions[name] in subset for name, subset in counted.box.items()):
                rows.append(fact)
                columns.append(piece)
    return pieces, rows, columns


def inside(inner: Box, outer: Box) -> bool:
    """Say whether one box lies inside another."""
    return all(name in inner and inner[name] <= subset for name, subset in outer.items())


def disjoint(one: Box, other: Box) -> bool:
    """Say whether two boxes share no value."""
    return any(name in other and not len(subset & other[name]) for name, subset in one.items())


def _contradiction(said: str) -> PolicyError:
    return PolicyError(f"known facts contradict each other: {said}.", hint="check the counts in the policy.")


def _total(domain: Domain, known: Sequence[KnownFact], stated: int | None) -> int | None:
    totals = [] if stated is None else [(stated, "the stated size")]
    for fact in known:
        if isinstance(fact, KnownMarginal):
            counts = fact.counts(domain)
            if counts is not None:
                totals.append((sum(counts), f"the marginal of {', '.join(fact.attributes)}"))
        elif not fact.box(domain) and fact.count is not None:
            totals.append((fact.count, "a count of everybody"))
    for total, name in totals[1:]:
        if total != totals[0][0]:
            raise _contradiction(f"{totals[0][1]} implies {totals[0][0]:,} records, but {name} implies {total:,}")
    return totals[0][0] if totals else None


def _margin(domain: Domain, fact: KnownMarginal, names: Sequence[str]) -> dict[tuple[int, ...], int]:
    """Sum a marginal's counts over the attributes that are not named."""
    marginal = fact.projected(domain)
    axes = [marginal.axis(name) for name in names]
    sums: dict[tuple[int, ...], int] = {}
    for cell, count in zip(marginal.cells(), fact.counts(domain) or (), strict=True):
        key = tuple(cell[axis] for axis in axes)
        sums[key] = sums.get(key, 0) + count
    return sums


def _check_marginals(domain: Domain, first: KnownMarginal, second: KnownMarginal) -> None:
    shared = [name for name in first.attributes if name in second.attributes]
    if first.given is None or second.given is None or not shared:
        return
    one, other = _margin(domain, first, shared), _margin(domain, second, shared)
    for cell, count in one.items():
        if other[cell] != count:
            where = domain.project(shared).show(cell)
            raise _contradiction(f"two marginals disagree on {where}: {count:,} and {other[cell]:,}")


def _check_mixed(domain: Domain, marginal: KnownMarginal, fact: KnownCount) -> None:
    if marginal.given is None or fact.count is None:
        return
    box = fact.box(domain)
    least = most = 0
    for counted in marginal.counted(domain):
        if not disjoint(counted.box, box):
            most += counted.count or 0
            least += (counted.count or 0) if inside(counted.box, box) else 0
    if not least <= fact.count <= most:
        must = f"{least:,}" if least == most else f"between {least:,} and {most:,}"
        raise _contradiction(f"{fact.words(domain)} must be {must} by the marginal of {', '.join(marginal.attributes)}")


def _check_counts(domain: Domain, first: KnownCount, second: KnownCount, size: int | None) -> None:
    if first.count is None or second.count is None:
        return
    one, other = first.box(domain), second.box(domain)
    pair = f"{first.words(domain)} and {second.words(domain)}"
    for lower, upper, low, high in _nested(one, other, first.count, second.count):
        if inside(lower, upper) and low > high:
            raise _contradiction(f"{pair}: one condition is part of the other but has the larger count")
    if size is not None and disjoint(one, other) and first.count + second.count > size:
        raise _contradiction(f"{pair} have nobody in common but add up to more than the {size:,} records")
    if size is not None and _cover(domain, one, other) and first.count + second.count < size:
        raise _contradiction(f"{pair} cover everybody but add up to fewer than the {size:,} records")


def _nested(one: Box, other: Box, first: int, second: int) -> Iterator[tuple[Box, Box, int, int]]:
    yield one, other, first, second
    yield other, one, second, first


def _cover(domain: Domain, one: Box, other: Box) -> bool:
    """Say whether two boxes cover the domain: both must then cut the same single attribute."""
    if not one or not other:
        return True
    if len(one) != 1 or set(one) != set(other):
        return False
    (name,) = one
    return len(one[name]) + len(other[name]) - len(one[name] & other[name]) == domain[name].size
