"""Text on its way to a terminal. Names and categories come from files that somebody else may have written."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import TYPE_CHECKING, Any, NoReturn

import click

from blowfish_privacy.errors import BlowfishWarning, LedgerError, SpecError
from blowfish_privacy.support import files
from blowfish_privacy.support.postgresql import is_address
from blowfish_privacy.support.progress import Task
from blowfish_privacy.support.text import printable

# Help needs neither these nor rich: it starts without numpy.
if TYPE_CHECKING:
    from blowfish_privacy.ledger import Ledger
    from blowfish_privacy.release.spec import PolicyFile


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print a text, in some style of :func:`click.style`."""
    shown = printable(text)
    click.echo(click.style(shown, **style) if style else shown, err=err, nl=nl)


def warn(text: str) -> None:
    """Say something that must not be overlooked, on standard error."""
    _say("Warning:", {"fg": "yellow", "bold": True}, text)


def say_error(message: str, hint: str | None = None) -> None:
    """Print what is wrong, and on a line of its own what to do."""
    # Whom no word reaches learns from the exit code.
    with suppress(OSError):
        _say("Error:", {"fg": "red", "bold": True}, message)
        if hint:
            _say("Hint:", {"fg": "yellow"}, f" {hint}")


def say_stopped() -> None:
    """Say that a command was stopped; the terminal may be gone."""
    with suppress(OSError):
        echo("Stopped.", err=True)


def close_output() -> None:
    """Give up standard output, which takes no more: what is still to be written goes nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _say(label: str, style: dict[str, Any], text: str) -> None:
    click.echo(f"{click.style(label, **style)} {printable(text)}", err=True)


# Ctrl-C, termination and hang-up: private files go at once, then the work stops, and the process ends quietly.
#
# Only the command line listens to signals; programs that use the library keep their own ways.

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

_PATIENCE = 5.0

_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"

_received: list[int] = []


def listen() -> None:
    """Handle the signals that ask this process to end, but for those it was started to ignore (nohup)."""
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # A thread hears of signals even while the main one is busy inside a library.
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_watch, args=(reading,), daemon=True).start()
    _handle(_interrupt)


def received() -> bool:
    """Say whether a signal has asked this process to end."""
    return bool(_received)


def finish() -> None:
    """Let no signal disturb the end of this process; if one asked for it, end at once."""
    if os.name == "posix":
        _handle(_disregard)
    if _received:
        _end()


def _handle(handler: Callable[[int, Any], None]) -> None:
    for number in (getattr(signal, name) for name in _NAMES):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:  # noqa: ARG001  # as all handlers
    """Stop the work; what follows is clean-up, which no other signal breaks off in the middle."""
    _received.append(number)
    _handle(_disregard)
    raise KeyboardInterrupt


def _disregard(number: int, frame: Any) -> None:
    """Do nothing here: the watching thread hears of it."""


def _watch(signals: int) -> None:
    """Remove at the first signal what is private; end at a second one, or when the work does not stop."""
    _received.append(os.read(signals, 1)[0])
    files.remove_private()
    select.select([signals], [], [], _PATIENCE)
    _end()


def _end() -> NoReturn:
    files.remove_everything()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
    # Python's own way to end waits for threads, and libraries that still work in them fail loudly.
    os._exit(128 + _received[0])


# Bars on the terminal, for whatever takes longer than a moment.

PATIENCE = 2.0

"""After so many seconds a person wants to see that something is happening."""


class TerminalProgress:
    """Shows on standard error, a terminal, what has been under way for two seconds, one task at a time."""

    def __init__(self) -> None:
        self._free = Lock()

    def begin(self, title: str) -> Task:
        """Prepare a bar; inside another task the outer one's goes on."""
        if not self._free.acquire(blocking=False):
            return _HiddenTask()
        return _Bar(title, self._free)


class _HiddenTask:
    """A task that is not shown."""

    def report(self, share: float | None) -> None:
        pass

    def end(self) -> None:
        pass


class _Bar:
    """A task that is shown once it takes long; until a share is known, its bar only moves."""

    def __init__(self, title: str, held: Lock) -> None:
        self._title, self._held = title, held
        self._share: float | None = None
        self._changing, self._over = Lock(), False
        self._shown: Any = None
        self._timer = Timer(PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def report(self, share: float | None) -> None:
        with self._changing:
            self._share = share
            self._update()

    def end(self) -> None:
        self._timer.cancel()
        with self._changing:
            self._over = True
            if self._shown is not None:
                self._shown.stop()
        self._held.release()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._changing:
            # The task may have ended while the timer went off.
            if self._over:
                return
            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._shown.add_task(f"{self._title} ...", total=None)
            self._update()
            self._shown.start()

    def _update(self) -> None:
        if self._shown is not None and self._share is not None:
            self._shown.update(self._shown.task_ids[0], completed=self._share, total=1.0)


# What the commands share: options, tables, warnings, loading a file.


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

file_argument = click.argument("file", type=click.Path(dir_okay=False))


def print_json(value: Any) -> None:
    """Print a result for a program."""
    echo(json_text(value))


def print_problems(problems: Iterable[str]) -> None:
    """List what a check found."""
    for problem in problems:
        echo(f"Problem: {problem}")


def json_text(value: Any) -> str:
    """Write a result for a program: every character beyond ASCII is escaped, so that any terminal can show it."""
    return json.dumps(value, indent=2)


@contextmanager
def warnings_in_words() -> Generator[None]:
    """Show our warnings as sentences, without the line of code that they come from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BlowfishWarning)
        yield
    for warning in caught:
        warn(str(warning.message))


def load_file(file: str) -> PolicyFile:
    """Load a policy file, showing warnings as sentences."""
    from blowfish_privacy.release import spec

    with warnings_in_words():
        return spec.load(file)


def load_in_part(file: str) -> PolicyFile:
    """Load a policy file in which some releases may be wrong, showing warnings as sentences."""
    from blowfish_privacy.release import spec

    with warnings_in_words():
        return spec.load_in_part(file)


def open_by_name(where: str) -> Ledger:
    """Open the ledger at a path or an address of PostgreSQL, showing warnings as sentences."""
    if not is_address(where) and not Path(where).exists():
        raise LedgerError(f"there is no ledger {where}.", hint="give the path that 'ledger:' names in the policy file.")
    from blowfish_privacy.ledger import open_ledger
    from blowfish_privacy.release.spec import load_policy
    from blowfish_privacy.release.verification import proof_of

    with warnings_in_words():
        ledger = open_ledger(where, load_policy=load_policy)
    ledger.prove = proof_of
    return ledger


def read_document(path: str) -> str:
    """Read the text of a release document."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None)
        hint = None if why else "give a release document: name.release.json."
        raise SpecError(f"{path} cannot be read: {why or 'not text'}.", hint=hint) from None


def keep_others(path: str | Path, what: str, is_own: Callable[[bytes], bool], option: str = "-o") -> None:
    """Refuse to write over a file that is not an earlier one of the same kind, which ``what`` names."""
    place = Path(path)
    try:
        free = not os.path.lexists(place) or (place.is_file() and is_own(place.read_bytes()))
    except OSError:
        free = False
    if not free:
        raise SpecError(
            f"{path} exists and is no {what}, so it is kept.",
            hint=f"give another name after {option}, or move it away.",
        )


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose columns line up, numbers to the right; lines are as long as they need to be."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(str(cell)).replace("\n", r"\n") for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, name in enumerate(header):
        numeric = all(row[column][:1] in "0123456789-" for row in cells if row[column])
        table.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True)
    for row in cells:
        # As Text, brackets in a name are no markup.
        table.add_row(*map(Text, row))
    console = Console(width=_ANY_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    first, *others = (line.rstrip() for line in captured.get().removesuffix("\n").split("\n"))
    echo(first, bold=True)
    for line in others:
        echo(line)


_ANY_WIDTH = 1_000_000
