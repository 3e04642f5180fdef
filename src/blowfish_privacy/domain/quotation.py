"""User-chosen names inside sentences: on one line and in quotation marks, so that a name reads as a name.

Curly quotation marks are used for such names and nowhere else.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 80

_WORD = re.compile("[A-Za-zÀ-ɏ0-9_+.-]{1,20}")
_MARKS = str.maketrans(dict.fromkeys("“”„‟❝❞〝〞", '"'))


def quoted(name: str, longest: int | None = LONGEST_NAME) -> str:
    """Put a name into quotation marks that the name itself cannot close."""
    return f"“{one_line(name.translate(_MARKS), longest)}”"


def worded(text: str) -> str:
    """Leave a single short word as it is, and put anything that could read like a sentence into quotation marks."""
    return text if _WORD.fullmatch(text) else quoted(text, None)


def one_line(text: str, longest: int | None) -> str:
    """Put a text on one line, without control characters or characters that change the text direction."""
    kept = "".join(c if c in "\u200c\u200d" or unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    line = " ".join(kept.split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 3]}..."
