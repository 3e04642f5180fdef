"""Figures: started without global state, and turned into PNG, SVG or PDF. Who wants a file writes the bytes.

Equal figures give equal bytes: no date is written, and names inside a file do not depend on chance. SVG has its letters
as outlines, which look the same on every machine and in print; PDF holds its fonts, so that its text can be searched.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any
from warnings import catch_warnings, simplefilter

from blowfish_privacy.errors import SpecError
from blowfish_privacy.results.pictures.fonts import add_missing_fonts
from blowfish_privacy.support.text import printable

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "0.55"
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


def plain_text(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas, and from drawing control characters."""
    return printable(text).replace("$", r"\$")


def shorten(text: str, most: int) -> str:
    """Cut a text to at most so many letters, the last of them an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shorten_all(texts: Sequence[str], most: int) -> list[str]:
    """Cut texts at their end, those that would become alike in the middle, and number them if that is no help."""
    cut = [shorten(text, most) for text in texts]
    numbered = [shorten(f"{number}: {text}", most) for number, text in enumerate(texts, 1)]
    for other in ([_without_middle(text, most) for text in texts], numbered):
        twice = _alike(texts, cut)
        cut = [new if before in twice else before for before, new in zip(cut, other, strict=True)]
    return cut


def _without_middle(text: str, most: int) -> str:
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def _alike(texts: Sequence[str], cut: Sequence[str]) -> set[str]:
    """Return what several different texts were cut to."""
    counted = Counter(short for _, short in set(zip(texts, cut, strict=True)))
    return {short for short, many in counted.items() if many > 1}


def title_above(figure: Any, text: str) -> None:
    """Write a headline above a figure, in as many lines as its width needs."""
    figure.suptitle(plain_text(fill(text, int(_LETTERS * figure.get_figwidth()))), fontsize=11)


def state_below(figure: Any, statement: str) -> None:
    """Write a guarantee below a figure, where nothing else is drawn."""
    figure.supxlabel(statement, x=0.995, ha="right", fontsize=7, color="0.4")


def picture(figure: Any, ending: str, *, document: str | None = None, origin: str = RELEASE) -> bytes:
    """Turn a figure into PNG, SVG or PDF; that of a release says which document it was drawn from."""
    from matplotlib import rc_context

    source = "" if document is None else _fingerprint(document)
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
    return any(f"{origin}{between}{_fingerprint(document)}".encode() in drawn for between in ("\0", " "))


def _fingerprint(document: str) -> str:
    return sha256(document.encode()).hexdigest()
