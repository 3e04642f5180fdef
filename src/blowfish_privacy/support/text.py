"""Text that users or others wrote: read from files, quoted in sentences, and made safe to show.

Curly quotation marks are used for such names and nowhere else.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

from blowfish_privacy.errors import SpecError

_BYTES = 4
"""The most bytes that a character of UTF-8 has."""
_KINDS = {
    b"PK\x03\x04": "is a zip archive or a spreadsheet, not text",
    b"PAR1": "is a Parquet file, not text",
    b"SQLite format 3": "is a database, not text",
    b"\x1f\x8b": "is compressed, not text",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: str | Path, most: int) -> str:
    """Read UTF-8 text of so many characters at most."""
    try:
        with Path(path).open("rb") as file:
            # A device has no size and no end.
            content = file.read(_BYTES * most + 1)
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError):
        raise SpecError("the path of the policy file is not valid.") from None
    if len(content) > _BYTES * most:
        raise SpecError(f"the file has more than {most:,} characters.")
    return decoded(content, path)


def decoded(content: bytes, path: str | Path) -> str:
    """Return the text of a file's bytes, without what some editors put in front of it."""
    for beginning, kind in _KINDS.items():
        if content.startswith(beginning):
            raise SpecError(f"{path} {kind}.", hint="give the policy file, which names the data.")
    if content.startswith(_UTF_16):
        raise SpecError(f"{path} is not UTF-8 text but UTF-16.", hint="save it again in the encoding UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise SpecError(
        f"line {line}: {path} is not UTF-8 text: a character of this line was saved in another encoding.",
        hint="save the file again in the encoding UTF-8.",
        line=line,
    )


def read_object(text: str) -> dict[str, Any] | None:
    """Read an object of JSON; None where a text is none, or has a key twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict) else None


_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that make a terminal do something or turn the direction of text, all but the end of a line."""


def printable(text: str) -> str:
    r"""Show control characters as escapes, such as ``\x1b``, so that no text can command what shows it."""
    return _CONTROLS.sub(lambda control: control[0].encode("unicode_escape").decode(), text)


LONGEST_NAME = 80

_WORD = re.compile("[A-Za-zÀ-ɏ0-9_+.-]{1,20}")
_MARKS = str.maketrans(dict.fromkeys("“”„‟❝❞〝〞", '"'))


def quoted(name: str, longest: int | None = LONGEST_NAME) -> str:
    """Put a name into quotation marks that the name itself cannot close."""
    return f"“{one_line(name.translate(_MARKS), longest)}”"


def worded(text: str) -> str:
    """Leave a single short word as it is, and put anything that could read like a sentence into quotation marks."""
    return text if _WORD.fullmatch(text) else quoted(text, None)


def count_of(number: int, noun: str) -> str:
    """Write a number of things: 1 step, 2 steps."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def one_line(text: str, longest: int | None) -> str:
    """Put a text on one line, without control characters or characters that change the text direction."""
    kept = "".join(c if c in "\u200c\u200d" or unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    line = " ".join(kept.split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 3]}..."
