"""The document of a release of groups: what all of them prove together, and a part for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blowfish_privacy.domain import Attribute, Cell
from blowfish_privacy.release.document import write
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.public_totals import KEY

OF_A_PART = ("values", "unit", "records", "error", "mechanism", "guarantee", "notices")


def join(plan: Plan, bodies: Mapping[Cell, dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Join the documents of the groups into one, which states what all of them prove together.

    ``left_out`` says for how many groups nothing was released.
    """
    domain, by = plan.policy.domain, plan.selection.by
    parts = [
        {"value": [label(domain[name], at) for name, at in zip(by, cell, strict=True)]}
        | {key: body[key] for key in (*OF_A_PART, KEY) if key in body}
        for cell, body in bodies.items()
    ]
    left_out = sum(1 for _ in plan.selection.groups(domain)) - len(parts)
    whole = write(plan, np.zeros(0, dtype=np.int64), **options)
    return {**whole, "groups": {"left_out": left_out, "parts": parts}}


def label(attribute: Attribute, position: int) -> Any:
    """Write a value that the records of a group share."""
    value = attribute.value(position)
    return value if isinstance(value, str | int) else str(value)
