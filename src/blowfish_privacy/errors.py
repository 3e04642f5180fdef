"""Every error this package raises on purpose.

::

    BlowfishError                     exit code of the command line
    ├── DomainError                   2   a domain is declared wrongly, or a value is not in it
    ├── SpecError                     2   the policy file is wrong
    ├── QueryError                    2   a query does not fit the domain, or its options are wrong
    ├── PolicyError                   3   a policy contradicts itself
    │   └── RefusalError              3   a valid request that no theorem here covers
    ├── BudgetError                   4   the ledger has too little left
    ├── LedgerError                   5   the ledger cannot be read or written
    └── DataError                     5   the data do not fit the declared domain, or the engine failed
        └── UnconfirmedServerError    5   a file names a server that the user has not confirmed

A message says what is wrong and what was given, then ``Hint:`` what to do. No message, attribute or cause
ever carries a value of the private data: what is quoted comes from the policy file or from the caller.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import date
from numbers import Number
from typing import ClassVar


class BlowfishError(Exception):
    """The root of all errors of this package."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.hint = hint
        self.line = line
        """The line of the policy file that is wrong, counted from 1, where one is known."""
        super().__init__(message if hint is None else f"{message} Hint: {hint}")

    def within(self, where: str, line: int | None = None) -> BlowfishError:
        """Return the same error, with the place it was found in front of its message."""
        found = type(self)(f"{where}: {self.message}", hint=self.hint)
        found.line = self.line if line is None else line
        return found

    def hinting(self, hint: str) -> BlowfishError:
        """Return the same error with one more hint."""
        return type(self)(self.message, hint=hint if self.hint is None else f"{self.hint} {hint}", line=self.line)


@contextmanager
def located(where: str, kind: type[BlowfishError] | None = None) -> Generator[None]:
    """Put the place in front of the message of any error that is raised inside, and make it one of another kind."""
    try:
        yield
    except BlowfishError as error:
        placed = error.within(where)
        raise (placed if kind is None else kind(placed.message, hint=placed.hint)) from None


class DomainError(BlowfishError):
    """A domain is declared wrongly, or a value is not in it."""


class SpecError(BlowfishError):
    """The policy file is wrong."""


class QueryError(BlowfishError):
    """A query does not fit the domain, or its options are wrong."""


class PolicyError(BlowfishError):
    """A policy contradicts itself."""

    exit_code = 3


class RefusalError(PolicyError):
    """A valid request that no theorem in this package covers."""


class BudgetError(BlowfishError):
    """The ledger has too little left."""

    exit_code = 4


class LedgerError(BlowfishError):
    """The ledger cannot be read or written."""

    exit_code = 5


class DataError(BlowfishError):
    """The data do not fit the declared domain, or the engine failed."""

    exit_code = 5


class UnconfirmedServerError(DataError):
    """A policy file names a server that the user has not confirmed, so nothing was sent to it."""


class BlowfishWarning(UserWarning):
    """Something is allowed but probably not what was meant."""


def brief(value: object) -> str:
    """Write a value that a caller gave, for a message: short text, a number or a date, and of all else its type alone.

    Every message quotes through this function: anything else could be a table, or hold rows of one.
    """
    if isinstance(value, str):
        text = repr(str(value[:81]))
    elif value is None or isinstance(value, Number | date):
        try:
            text = str(value)
        except ValueError:  # a number of thousands of digits
            text = brief_kind(value)
    else:
        text = brief_kind(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def brief_name(value: object) -> str:
    """Write a name that a caller gave; what is not text is no name, and may come from a table: its type alone."""
    return brief(value) if isinstance(value, str) else brief_kind(value)


def brief_kind(value: object) -> str:
    """Name the type of a value, which says nothing of what is in it."""
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


_MOST_COMPARED = 1_000
_LONGEST_COMPARED = 200


def nearest(name: str, options: Iterable[str]) -> str:
    """Word a hint that names the option closest to a misspelt name."""
    from difflib import get_close_matches  # only mistakes need it

    known = sorted(options)
    # Comparing takes time that grows with the square of the lengths: what is long or among very many is not compared.
    folded = {option[:_LONGEST_COMPARED].casefold(): option for option in known[:_MOST_COMPARED]}
    close = get_close_matches(name[:_LONGEST_COMPARED].casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {brief(folded[close[0]])}?"
    if not known:
        return "no name is possible here."
    shown = ", ".join(option[:_LONGEST_COMPARED] for option in known[:12]) + (", ..." if len(known) > 12 else "")
    return f"the names possible here are {shown}."
