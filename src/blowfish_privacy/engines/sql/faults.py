"""Errors of the libraries we call, whose messages may quote the data, turned into ours, which never do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from blowfish_privacy.errors import BlowfishError, DataError

Result = TypeVar("Result")

_HINTS = {
    "OutOfMemoryException": "free some memory, or point TMPDIR at a disk with more room.",
    "MemoryError": "free some memory, or ask for fewer attributes together.",
    "FileNotFoundError": "the file is not there any more: put it back, or name the place where it is now.",
    "OSError": "check the disk, and that TMPDIR can be written to.",
    "IOException": "the file may be damaged, still being written, or open for writing in another program.",
    "ResourceInUseException": "close the other connection to this file, or pass a relation of that connection.",
    "PermissionException": "a view that reads other files must be passed as a relation of your own connection.",
    "InvalidInputException": "a CSV file needs equal rows, closed quotes, one kind of line end, UTF-8 (not Latin-1).",
    "AnalysisException": "check that Spark finds the path or table, and that it may be read.",
    "Py4JError": "the Spark driver or its cluster is gone; start it and try again: nothing is charged twice.",
    "Py4JJavaError": "see the logs of the Spark cluster, which may quote the data, for what went wrong.",
    "PySparkException": "see the logs of the Spark cluster, which may quote the data, for what went wrong.",
    "ConnectionError": "the server or cluster is gone; start it and try again: nothing is charged twice.",
    # What Polars raises where it fails inside is no Exception.
    "PanicException": "check the table with Polars itself; convert odd columns, or pass an Arrow table.",
    "ModuleNotFoundError": "a package for tables is missing: pip install pandas pyarrow.",
}
_HINT = "check the source with the program that wrote it; what it said is left out, as it may quote the data."


def shielded(action: Callable[[], Result], what: str) -> Result:
    """Run an action; whatever goes wrong underneath is raised as our own error, without cause or context.

    The error is raised after the ``except`` block has ended, for otherwise Python would keep the original, with
    the private values in its message, as the new error's context.
    """
    try:
        return action()
    except BlowfishError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ not in _HINTS:
            raise
        interrupted = _was_interrupted(error)
        failure = _failure(error, what)
    raise KeyboardInterrupt if interrupted else failure


def _failure(error: BaseException, what: str) -> DataError:
    kind = type(error).__name__
    if isinstance(error, Exception) and any(each.__module__.startswith("psycopg") for each in type(error).__mro__):
        from blowfish_privacy.support.postgresql import error_in_words

        said, hint = error_in_words(error)
        return DataError(f"{what} could not be read: {said} ({kind}).", hint=hint)
    return DataError(f"{what} could not be read ({kind}).", hint=_hint(error))


def _hint(error: BaseException) -> str:
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_HINTS[name] for name in names if name in _HINTS), _HINT)


def _was_interrupted(error: BaseException) -> bool:
    # DuckDB reports Ctrl-C as an error of the query.
    return isinstance(error, RuntimeError) and "interrupted" in str(error).casefold()
