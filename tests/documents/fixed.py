"""What makes two runs alike: fixed bits, a fixed clock, no version, a fixed width, and texts in a stable form."""

from __future__ import annotations

import datetime
import io
import json
import os
import re
import sys
import warnings
from base64 import b64decode
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import blowfish_privacy
from predictable import predictable_bits

VERSION = "VERSION"
HERE = " (this machine)"
"""Ends the name of a view that differs from processor to processor: it is compared, and has no digest."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(e[+-]?\d+)?(?![\w.])")
_EMBEDDED = re.compile(r"data:image/([a-z+]+);base64,([A-Za-z0-9+/=\s]+)")


class FixedTime(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=tz)


@contextmanager
def fixed(name: str) -> Generator[None]:
    """Let nothing differ from run to run: the bits of the noise belong to a name."""
    with ExitStack() as stack:
        for module, attribute, value in _places():
            stack.enter_context(patch.object(module, attribute, value))
        stack.enter_context(_readable_pictures())
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": "100", "LINES": "40", "TZ": "UTC"}))
        stack.enter_context(predictable_bits(name))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


@contextmanager
def folder_of_its_own() -> Generator[Path]:
    """Work in an empty folder, so that every path is relative and the same on every machine."""
    before = Path.cwd()
    with TemporaryDirectory() as place:
        os.chdir(place)
        _hidden.clear()
        try:
            yield Path(place)
        finally:
            _hidden.clear()
            os.chdir(before)


_hidden: dict[str, str] = {}
"""Hashes of documents, which state errors to the last digit, and what stands for them."""


def hide(document: str, name: str) -> None:
    """Let a name stand for the hashes of a document from now on; what they were made of has a view of its own."""
    for made, text in (("content", json.loads(document)["sha256"]), ("text", sha256(document.encode()).hexdigest())):
        for length in (64, 12):
            _hidden[text[:length]] = f"<{made} of {name}>"


def _without_hashes(text: str) -> str:
    return re.sub(r"[0-9a-f]{64}|[0-9a-f]{12}", lambda found: _hidden.get(found[0], found[0]), text)


@cache
def _places() -> list[tuple[Any, str, Any]]:
    """Find where the package holds the clock and its own version, wherever its modules are."""
    for module in walk_packages(blowfish_privacy.__path__, "blowfish_privacy."):
        if not module.name.endswith("__main__"):
            _import(module.name)
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "blowfish_privacy"]
    held = [(module, name, value) for module in ours for name, value in vars(module).items()]
    clocks = [(module, name, FixedTime) for module, name, value in held if value is datetime.datetime]
    return [*clocks, *((module, name, VERSION) for module, name, _ in held if name == "__version__")]


def _import(name: str) -> None:
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        # What needs an optional package is not part of this.
        if str(error.name).startswith("blowfish_privacy"):
            raise


@contextmanager
def _readable_pictures() -> Generator[None]:
    """Draw SVG with letters as text, and of PNG and PDF only what they were drawn from."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    draw = Figure.savefig

    def savefig(figure: Any, target: io.BytesIO, **options: Any) -> None:
        if options["format"] == "svg":
            with rc_context({"svg.fonttype": "none"}):
                draw(figure, target, **options)
            return
        start = b"\x89PNG\r\n\x1a\n" if options["format"] == "png" else b"%PDF-1.4\n"
        target.write(start + b"".join(f"{key}\0{value}\n".encode() for key, value in options["metadata"].items()))

    with patch.object(Figure, "savefig", savefig):
        yield


def stable(text: str) -> str:
    """Write decimal numbers to nine digits, since processors differ in the last ones, and pictures as their content."""
    return _without_hashes(_NUMBER.sub(_rounded, _EMBEDDED.sub(_content, text)))


def stable_picture(text: str) -> str:
    """Write the numbers of an SVG to a hundredth of a point; layouts are solved in floating point."""
    shown = _without_hashes(_EMBEDDED.sub(_content, text))
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]) + 0.0:.2f}", shown)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.9g}"


def _content(found: re.Match[str]) -> str:
    """Say what an embedded picture shows: compressed bytes depend on who compressed them."""
    kind, content = found[1], b64decode(found[2])
    if kind == "svg+xml":
        return f"data:image/svg {digest(stable_picture(content.decode()))}"
    if content.startswith(b"\x89PNG\r\n\x1a\n\0"):
        from PIL import Image

        image = Image.open(io.BytesIO(content))
        return f"data:image/{kind} {image.size} {sha256(image.tobytes()).hexdigest()[:10]}"
    return f"data:image/{kind} {sha256(content).hexdigest()[:10]}"


def digest(text: str) -> str:
    """Hash a text that is stable."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
