"""How a loss is written down in the row of an entry."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, get_args

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.amounts import read_amount, write_amount
from blowfish_privacy.privacy.classes import Kind, PairClass
from blowfish_privacy.privacy.loss import Loss, Measure

_KINDS = get_args(Kind)


def write_loss(loss: Loss) -> str:
    """Write the classes of secret pairs and what each loses; the measure is written beside it."""
    rows = [{**_written(pairs), "amount": write_amount(amount)} for pairs, amount in loss]
    return json.dumps(rows, separators=(",", ":"))


def read_loss(measure: str, text: str) -> Loss:
    """Read what :func:`write_loss` writes, and nothing else."""
    if measure not in Measure.kinds:
        raise LedgerError("an entry has an unknown measure of loss.", hint="use a newer version.")
    try:
        amounts = dict(_read(**row) for row in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        amounts = None
    loss = None if amounts is None else Loss.of(amounts, Measure.kinds[measure])
    if loss is None or write_loss(loss) != text:
        raise LedgerError("the stored loss of an entry is damaged.", hint="the ledger was changed by other software.")
    return loss


def _written(pairs: PairClass) -> dict[str, str]:
    return {"pairs": pairs.kind, **({"attribute": pairs.attribute} if pairs.attribute else {})}


def _read(*, pairs: Any, amount: str, attribute: str = "") -> tuple[PairClass, Fraction]:
    if pairs not in _KINDS or not isinstance(attribute, str) or bool(attribute) != (pairs == "attribute"):
        raise ValueError
    return PairClass(pairs, attribute), read_amount(amount)
