"""Figures: started without global state, and turned into PNG or SVG. Who wants a file writes the bytes."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import Any

from blowfish_privacy.support.printable import printable

_ORIGIN = "Drawn from the blowfish-privacy release document with SHA-256"
_RESOLUTION = 120


def start_figure(width: float, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Any, Any]:
    """Start a figure of panels; ``shared`` says which axes they have in common."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=_RESOLUTION)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **shared)


def plain_text(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas, and from drawing control characters."""
    return printable(text).replace("$", r"\$")


def state_below(figure: Any, statement: str) -> None:
    """Write a guarantee below a figure, where nothing else is drawn."""
    figure.supxlabel(statement, x=0.995, ha="right", fontsize=7, color="0.4")


def png(figure: Any, *, document: str | None = None) -> bytes:
    """Turn a figure into PNG; that of a release says which document it was drawn from."""
    buffer = io.BytesIO()
    origin = {} if document is None else {_ORIGIN: _fingerprint(document)}
    figure.savefig(buffer, format="png", dpi=_RESOLUTION, metadata=origin)
    return buffer.getvalue()


def svg(figure: Any, *, document: str | None = None) -> bytes:
    """Turn a figure into SVG; that of a release says which document it was drawn from."""
    buffer = io.BytesIO()
    origin = {} if document is None else {"Description": f"{_ORIGIN} {_fingerprint(document)}"}
    figure.savefig(buffer, format="svg", metadata={"Date": None, **origin})
    return buffer.getvalue()


def drawn_from(document: str, png: bytes) -> bool:
    """Say whether a picture was drawn from a release document."""
    return f"{_ORIGIN}\0{_fingerprint(document)}".encode() in png


def _fingerprint(document: str) -> str:
    return sha256(document.encode()).hexdigest()
