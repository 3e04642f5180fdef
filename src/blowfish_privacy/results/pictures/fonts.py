"""Letters that the font of pictures does not have, as of Chinese names: drawn with an installed font that has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_MOST_FONTS = 3
_NO_HELP = ("Color", "Last Resort")
"""Fonts of coloured images, which matplotlib cannot draw, and of boxes for all letters."""


def add_missing_fonts(figure: Any) -> None:
    """Let every text of a figure fall back on installed fonts with its letters; what none has is drawn as a box."""
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    letters = {ord(letter) for text in texts for letter in text.get_text() if letter.isprintable()}
    missing = frozenset(letters.difference(get_font(findfont(FontProperties())).get_charmap()))
    found = _families(missing) if missing else ()
    for text in texts if found else ():
        text.set_fontfamily([*text.get_fontfamily(), *found])


@lru_cache(maxsize=64)
def _families(letters: frozenset[int]) -> tuple[str, ...]:
    """Choose a few installed families that have the letters, those first that have most of them."""
    every = {family: letters.intersection(has) for family, has in _installed()}
    chosen: list[str] = []
    left = letters
    while left and len(chosen) < _MOST_FONTS:
        best = max(sorted(every), key=lambda family: len(every[family] & left), default="")
        if not best or not every[best] & left:
            break
        chosen.append(best)
        left = left - every[best]
    return tuple(chosen)


def _installed() -> Iterator[tuple[str, Any]]:
    """Go through the upright fonts that are installed: their families, and the letters that they have."""
    from matplotlib.font_manager import fontManager, get_font

    for entry in fontManager.ttflist:
        upright = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if not upright or any(word in entry.name for word in _NO_HELP):
            continue
        try:
            yield entry.name, get_font(entry.fname).get_charmap()
        except (OSError, RuntimeError):
            # A file that is damaged, or was removed since fonts were listed, has no letters for us.
            continue
