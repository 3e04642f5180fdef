"""The search over sets of moves ends, and where."""

from __future__ import annotations

from itertools import product

import pytest

from blowfish_privacy.known_facts import atoms
from blowfish_privacy.known_facts.atoms import Move

EDGE = ((0,), (1,))


def all_effects(rank):
    """Every effect on so many counts, secret and not."""
    effects = [effect for effect in product((-1, 0, 1), repeat=rank) if any(effect)]
    return [Move(effect, (), 1, (0, 1), secret) for effect in effects for secret in (None, EDGE)]


@pytest.mark.parametrize(("rank", "longest"), [(1, 2), (2, 4), (3, 10)])
def test_no_set_of_moves_is_longer(rank, longest, monkeypatch):
    kept = []
    keep = atoms._keep

    def note(states, key, state):
        kept.append(len(state.moves))
        keep(states, key, state)

    monkeypatch.setattr(atoms, "_keep", note)
    monkeypatch.setitem(atoms._PROVEN, rank, longest + 5)
    found = atoms.search(all_effects(rank), records=None)
    assert (found.longest, found.value) == (longest, longest)
    assert sum(effect for move in found.moves for effect in move.effect) == 0
    # Nothing unfinished was left when the search ended: it is complete for any number of records.
    assert max(kept) == longest - 1
    assert atoms._PROVEN[rank] > longest


def test_the_number_of_records_limits_the_search():
    assert atoms.search(all_effects(3), records=5).longest == 5
    assert atoms.search(all_effects(4), records=9) is None
    assert atoms.search(all_effects(4), records=None) is None
    assert atoms.search(all_effects(4), records=3).longest == 3


def test_a_set_without_a_secret_move_does_not_count():
    moves = [Move((1,), (), 1, (0, 1)), Move((-1,), (), 1, (1, 0))]
    assert atoms.search(moves, records=None).value == 0
    assert atoms.search([*moves, Move((1,), (), 0, (0, 1), EDGE)], records=None).value == 1


def test_single_valued_classes_cancel():
    there, back = Move((1,), (-1,), 1, (0, 1), EDGE), Move((-1,), (1,), 1, (1, 0))
    assert atoms.search([there, back], records=None).value == 2
    gone = Move((-1,), (0,), 1, (1, 2))
    assert atoms.search([there, gone], records=None).value == 3
