"""Figures: started without global state, and turned into PNG, SVG or PDF. Who wants a file writes the bytes.

Equal figures give equal bytes: no date is written, and names inside a file do not depend on chance. SVG has its letters
as outlines, which look the same on every machine and in print; PDF holds its fonts, so that its text can be searched.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import count
from math import ceil, floor, log10
from pathlib import Path
from textwrap import fill
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from blowfish_privacy.domain import Attribute, Binned, Domain, Numeric
from blowfish_privacy.errors import SpecError
from blowfish_privacy.support.text import printable

# Letters that the font of pictures does not have, as of Chinese names: drawn with an installed font that has them.

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


BLUE, ORANGE = "#0072B2", "#E69F00"
"""Colours that are told apart by people who are colour-blind, and by their lightness in print."""
ENDINGS = ("png", "svg", "pdf")
"""The forms of pictures, by how their files end."""

RELEASE = "Drawn from the blowfish-privacy release document with SHA-256"
LEDGER = "Drawn from the blowfish-privacy ledger whose name has SHA-256"
POLICY = "Drawn from the blowfish-privacy policy file whose name has SHA-256"
"""What pictures say they were drawn from, before the hash of its text."""

_RESOLUTION = 120
_LETTERS = 12
"""How many letters of a headline an inch has."""
_FONTS: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "blowfish-privacy", "pdf.fonttype": 42}


def start_figure(width: float, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Any, Any]:
    """Start a figure of panels without frames; ``shared`` says which axes they have in common."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=_RESOLUTION)
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, **shared)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, color="0.4")
    return figure, panels


class Drawing(ABC):
    """What a picture shows, described once: matplotlib draws it here, for files, and ECharts in the studio's page."""

    @abstractmethod
    def draw(self, axes: Any) -> None:
        """Draw it on matplotlib axes, which may be part of another figure."""

    def figure(self) -> Any:
        """Draw it as a figure of its own, which has no headline yet."""
        figure, axes = start_figure(8, 4.5)
        self.draw(axes)
        return figure


def plain_text(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas, and from drawing control characters."""
    return printable(text).replace("$", r"\$")


def shorten(text: str, most: int) -> str:
    """Cut a text to at most so many letters, the last of them an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shorten_all(texts: Sequence[str], most: int) -> list[str]:
    """Cut texts at their end, those that would become alike in the middle, and number them if that is no help."""
    cut, end = [shorten(text, most) for text in texts], (most - 1) // 2
    middle = [text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}" for text in texts]
    numbered = [shorten(f"{number}: {text}", most) for number, text in enumerate(texts, 1)]
    for other in (middle, numbered):
        counted = Counter(short for _, short in set(zip(texts, cut, strict=True)))
        cut = [new if counted[before] > 1 else before for before, new in zip(cut, other, strict=True)]
    return cut


def title_above(figure: Any, text: str) -> None:
    """Write a headline above a figure, in as many lines as its width needs."""
    figure.suptitle(plain_text(fill(text, int(_LETTERS * figure.get_figwidth()))), fontsize=11)


def state_below(figure: Any, statement: str) -> None:
    """Write a guarantee below a figure, where nothing else is drawn."""
    figure.supxlabel(statement, x=0.995, ha="right", fontsize=7, color="0.4")


def picture(figure: Any, ending: str, *, document: str | None = None, origin: str = RELEASE) -> bytes:
    """Turn a figure into PNG, SVG or PDF; that of a release says which document it was drawn from."""
    from matplotlib import rc_context

    source = "" if document is None else fingerprint(document)
    metadata: dict[str, dict[str, Any]] = {
        "png": {origin: source} if source else {},
        "svg": {"Date": None, **({"Description": f"{origin} {source}"} if source else {})},
        "pdf": {"CreationDate": None, **({"Subject": f"{origin} {source}"} if source else {})},
    }
    buffer = io.BytesIO()
    add_missing_fonts(figure)
    with rc_context(_FONTS), catch_warnings():
        # Letters that no font has are boxes: words about fonts help nobody who looks at a terminal.
        simplefilter("ignore", UserWarning)
        figure.savefig(buffer, format=ending, dpi=_RESOLUTION, metadata=metadata[ending])
    drawn = buffer.getvalue()
    # Spaces at the ends of lines mean nothing in SVG, and are marked as mistakes where files are compared.
    return b"\n".join(map(bytes.rstrip, drawn.splitlines())) + b"\n" if ending == "svg" else drawn


def png(figure: Any, *, document: str | None = None) -> bytes:
    """Turn a figure into PNG; that of a release says which document it was drawn from."""
    return picture(figure, "png", document=document)


def svg(figure: Any, *, document: str | None = None) -> bytes:
    """Turn a figure into SVG; that of a release says which document it was drawn from."""
    return picture(figure, "svg", document=document)


def ending_of(file: str | Path) -> str:
    """Say by the name of its file which form a picture has; without an ending it is PNG."""
    ending = Path(file).suffix.lower().removeprefix(".") or "png"
    if ending not in ENDINGS:
        raise SpecError(f"a picture cannot be drawn as .{ending}.", hint="use a name that ends in .png, .svg or .pdf.")
    return ending


def drawn_from(document: str, drawn: bytes, *, origin: str = RELEASE) -> bool:
    """Say whether a picture was drawn from a release document, or another text."""
    return any(f"{origin}{between}{fingerprint(document)}".encode() in drawn for between in ("\0", " "))


def fingerprint(document: str) -> str:
    """Return the SHA-256 of a text, by which pictures and tables name what they were made from."""
    return sha256(document.encode()).hexdigest()


# Axes with round numbers: 1, 2 or 5 times a power of ten apart, with separators in long ones.

_MOST_LABELS = 11
_ROOM = 70
"""How many letters fit side by side below a picture."""
_LONGEST = 24
"""The letters of a name along an axis."""
_LONG = 10_000
"""From here on whole numbers have separators: years have none."""
_APART = 0.07
"""The least distance of ticks along a colour bar."""

Tick = tuple[float, str]


def label_values(axis: Any, domain: Domain, *, most: int = _MOST_LABELS, room: int = _ROOM) -> None:
    """Label some of the positions along an axis by the values that they stand for, and the axis by its attributes.

    Of numbers the round ones are labelled, as many as have room; bins at their edges; names are turned where they
    would touch.
    """
    sideways = axis.axis_name == "x"
    ticks = _ticks(domain, most)
    if len(domain.shape) == 1 and domain.attributes[0].ordered:
        while sideways and most > 2 and sum(len(text) + 2 for _, text in ticks) > room:
            most -= 1
            ticks = _ticks(domain, most)
    crowded = sideways and sum(len(text) for _, text in ticks) > room
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks([place for place, _ in ticks], [plain_text(text) for _, text in ticks], **turned)
    axis.set_label_text(plain_text(" x ".join(domain.names)), fontsize=9)


def label_part(axis: Any, domain: Domain, first: float, last: float, *, most: int = 3) -> None:
    """Label a few values of one attribute between two positions, the roundest that are there."""
    fine, ticks = most, list[Tick]()
    while len(ticks) < 2 and fine < 4 * domain.size:
        fine *= 2
        ticks = [(place, text) for place, text in _ticks(domain, fine) if first <= place <= last]
    chosen = ticks[:: ceil(len(ticks) / most)] if ticks else []
    axis.set_ticks([place for place, _ in chosen], [plain_text(text) for _, text in chosen])


def label_numbers(axis: Any, words: str, *, most: int = 6) -> None:
    """Label an axis of numbers at round ones, and say what they are, in a line or several."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(number))
    axis.set_label_text(plain_text(words), fontsize=9)


def add_grid(axes: Any, direction: str = "both") -> None:
    """Draw faint lines behind everything else."""
    axes.grid(axis=direction, color="0.92")
    axes.set_axisbelow(True)


def number(value: float, _: int | None = None) -> str:
    """Write the number of a tick: with separators, and without the traces of floating point."""
    return f"{value:,.10g}" if value else "0"


def without_sign(value: float, _: int | None = None) -> str:
    """Write the number of a tick of an axis that goes from zero to both sides."""
    return number(abs(value))


def with_interval(value: float, low: float, high: float, *, decimals: int = 1) -> str:
    """Write a number with its interval, if it has one, to as many digits as the interval leaves."""
    shown, below, above = (deserved(each, high - low, decimals=decimals) for each in (value, low, high))
    return shown if low == high else f"{shown} (95 % interval {below} to {above})"


def deserved(value: float, width: float, *, decimals: int = 1) -> str:
    """Write a number to as many digits as a 95 % interval of some width, about four standard errors, leaves.

    ``decimals`` is down to which digit of the width decimals are written. Of large numbers, digits are written down to
    the second one of the error.
    """
    if not width:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
    finest, coarsest = decimals - 1 - floor(log10(width)), 1 - floor(log10(width / 4))
    places = max(finest, min(coarsest, 0))
    return f"{round(float(value), places) + 0.0:,.{min(max(places, 0), 9)}f}"


def round_steps() -> Iterator[int]:
    """Go through 1, 2, 5, 10, 20, 50, ..."""
    return (digit * 10**power for power in count() for digit in (1, 2, 5))


def round_numbers(most: float, place: Any) -> list[float]:
    """Return zero and round numbers up to the most, as many as have room where ``place`` puts them, from 0 to 1."""
    if most <= 0:
        return [0.0]
    every = (digit * 10.0**power for power in range(floor(log10(most)) + 1) for digit in (1, 2, 5))
    chosen = [float(each) for each in every if each <= most]
    kept: list[float] = []
    # Downwards, and the first digit of a power of ten goes last.
    for each in sorted(chosen, key=lambda number: (number != 10.0 ** round(log10(number)), -number)):
        if all(abs(place(each) - place(other)) >= _APART for other in [0.0, *kept]):
            kept.append(each)
    return [0.0, *sorted(kept)]


def _ticks(domain: Domain, most: int) -> list[Tick]:
    if len(domain.shape) == 1:
        return _ticks_of(domain.attributes[0], most)
    texts = (
        (place, ", ".join(a.show(p) for a, p in zip(domain.attributes, domain.unflat(place), strict=True)))
        for place in _every(domain.size, most)
    )
    return _named(texts)


def _ticks_of(attribute: Attribute, most: int) -> list[Tick]:
    """Choose positions of an attribute: round numbers, round edges of bins, the first days of years or months."""
    match attribute:
        case Numeric():
            low, high, spacing = attribute.lowest, attribute.number(attribute.size - 1), attribute.spacing
            # The smallest round step, not below the spacing, of which no more than the most lie between the two.
            steps = (Fraction(10) ** floor(log10(spacing)) * step for step in round_steps())
            step = next(each for each in steps if each >= spacing and floor(high / each) - ceil(low / each) < most)
            values = [step * number for number in range(ceil(low / step), floor(high / step) + 1)]
            return _numbered([(float((value - low) / spacing), value) for value in values])
        case Binned():
            return _numbered([(place - 0.5, attribute.bounds[place]) for place in _round_edges(attribute, most)])
        case _ if isinstance(attribute.value(0), date):
            return _dates(attribute, most)
        case _:
            return _named((place, attribute.show(place)) for place in _every(attribute.size, most))


def _named(texts: Iterable[Tick]) -> list[Tick]:
    places, names = zip(*texts, strict=True)
    return list(zip(places, shorten_all(names, _LONGEST), strict=True))


def _every(size: int, most: int) -> range:
    return range(0, size, next(step for step in round_steps() if size <= most * step))


def _round_edges(attribute: Binned, most: int) -> Sequence[int]:
    """Choose edges that are multiples of one round number, if enough are; else every so many."""
    edges = attribute.bounds
    if len(edges) <= most:
        return range(len(edges))
    power = Fraction(10) ** (floor(log10(float((edges[-1] - edges[0]) / most))) - 1)
    for step in (power * each for each in round_steps()):
        chosen = [place for place, edge in enumerate(edges) if not edge % step]
        if len(chosen) <= most:
            return chosen if 2 * len(chosen) >= min(most, 8) else _every(len(edges), most)
    return _every(len(edges), most)


def _numbered(ticks: Sequence[tuple[float, Fraction]]) -> list[Tick]:
    long = any(abs(value) >= _LONG for _, value in ticks)
    return [(place, f"{float(value):,.10g}" if long else f"{float(value):.10g}") for place, value in ticks]


def _dates(attribute: Attribute, most: int) -> list[Tick]:
    """Choose the first dates of years, quarters or months, whichever have room; else every so many."""
    days: list[date] = [attribute.value(place) for place in range(attribute.size)]
    # Whether the first of all dates is the first day or week of its month, or a month.
    begins = len(days) > 1 and days[0].day <= (days[1] - days[0]).days
    years = [each.year for each in days]
    months = [12 * each.year + each.month - 1 for each in days]
    for units, step in ((months, 1), (months, 3), (months, 6), *((years, step) for step in (1, 2, 5, 10, 20, 50, 100))):
        changed = np.flatnonzero(np.diff(np.array(units) // step)) + 1
        first = [0] if begins and (units is months or days[0].month == 1) else []
        places = [place for place in [*first, *changed.tolist()] if units[place] % step == 0]
        if 2 <= len(places) <= most:
            return [(place, str(days[place].year) if units is years else f"{days[place]:%Y-%m}") for place in places]
    return [(place, attribute.show(place)) for place in _every(attribute.size, most)]
