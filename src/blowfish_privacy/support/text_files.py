"""Reading a file that somebody wrote in an editor, or saying what kind of file it is instead."""

from __future__ import annotations

from pathlib import Path

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
