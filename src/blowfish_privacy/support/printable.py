"""Making text that somebody else wrote safe to show."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that make a terminal do something or turn the direction of text, all but the end of a line."""


def printable(text: str) -> str:
    r"""Show control characters as escapes, such as ``\x1b``, so that no text can command what shows it."""
    return _CONTROLS.sub(lambda control: control[0].encode("unicode_escape").decode(), text)
