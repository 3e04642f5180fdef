"""How values that are neither whole numbers nor categories are declared, for hints."""

from __future__ import annotations

DATES = "day: {date: [2020-01-01, 2020-12-31], step: day}"
"""How dates are declared."""
DECIMALS = "wage: {decimal: [0, 100], step: 0.25}"
"""How numbers with decimals are declared."""
DATES_HINT = f"dates are declared like {DATES}, with the step day, week or month."
DECIMALS_HINT = f"numbers with decimals are declared like {DECIMALS}, or as binned."
