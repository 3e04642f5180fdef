"""Publishing: releases that are confirmed, charged and made in the background, whoever is looking.

A publisher makes one publication at a time. It runs in a thread of its own, so that a closed or reloaded tab changes
nothing: whoever looks again sees how far it is, and what is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event, Lock, Thread
from types import MappingProxyType

from blowfish_privacy import results
from blowfish_privacy.batch import Batch, open_session
from blowfish_privacy.errors import BlowfishError, DataError, LedgerError, SpecError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.noise import BitSource
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.results import GroupsResult, Result
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import Card, markdown, page
from blowfish_privacy.statements.ledger import HistoryRow, history
from blowfish_privacy.statements.plan import Confirmation, confirmation, paid_by
from blowfish_privacy.statements.product import make_product_card
from blowfish_privacy.studio.charts.look import TitledChart
from blowfish_privacy.studio.charts.results import pictures_of
from blowfish_privacy.support.progress import Task, progress_to

# The files that a page hands over: those of a release, as the command line writes them, its card, and that of all.

_LARGEST = 50_000_000
"""Bytes that a page may hand over; the command line writes what is larger."""


@dataclass(frozen=True, eq=False)
class Download:
    """A file that is made when it is asked for."""

    label: str
    """What a button says."""
    name: str
    media: str
    make: Callable[[], bytes]

    def content(self) -> bytes:
        """Make the file."""
        made = self.make()
        if len(made) > _LARGEST:
            hint = "blowfish release writes it to a folder; what the ledger holds costs nothing."
            raise DataError(f"{self.name} is too large for a page ({len(made) // 1_000_000:,} MB).", hint=hint)
        return made


def downloads(result: Result | GroupsResult, folder: Path | None = None, number: int = 1) -> list[Download]:
    """List the files of a result; values that have a file of their own lie in the folder.

    Of several releases with one name the second is called ``name-2``, so that no file takes another's place.
    """
    name = result.name if number == 1 else f"{result.name}-{number}"

    def card() -> Card:
        return make_card(result.text, folder=folder)

    document = Download("JSON", f"{name}.release.json", "application/json", result.text.encode)
    cards = [
        Download("Card", f"{name}.card.html", "text/html", lambda: page(card()).encode()),
        Download("Card as Markdown", f"{name}.card.md", "text/markdown", lambda: markdown(card()).encode()),
    ]
    if isinstance(result, Result) and result.kept is not None:
        return [document, *cards]
    tables = [
        Download("CSV", f"{name}.csv", "text/csv", result.csv),
        Download("SVG", f"{name}.svg", "image/svg+xml", result.svg),
        Download("PDF", f"{name}.pdf", "application/pdf", result.pdf),
        Download("PNG", f"{name}.png", "image/png", result.png),
    ]
    return [document, *tables, *cards]


def number_of(ledger: Ledger, name: str, key: str) -> int:
    """Say which of the releases of that name in a ledger one is, from 1."""
    keys = [entry.key for entry in ledger.entries() if entry.description.startswith(f"{name}: ")]
    return keys.index(key) + 1 if key in keys else 1


# Releases that are made: what a page shows of them, and those that a ledger holds.


@dataclass(frozen=True, eq=False)
class Published:
    """One release that is made: its result, and the entry that paid for it if an earlier run did."""

    name: str
    result: Result | GroupsResult
    paid_before: str | None = None
    folder: Path | None = None
    """Where values lie that are too many for a document."""
    number: int = 1
    """Which of the ledger's releases of that name it is."""

    @cached_property
    def pictures(self) -> Sequence[TitledChart]:
        """The result as charts; the first time this may take a moment."""
        return pictures_of(self.result)

    @cached_property
    def remarks(self) -> Sequence[str]:
        """What is to be said of the numbers; the first time this may take a moment."""
        return self.result.remarks()

    @property
    def files(self) -> list[Download]:
        """The files that a page hands over."""
        return downloads(self.result, self.folder, self.number)


@dataclass(frozen=True, eq=False)
class LedgerHistory:
    """What a ledger holds, as it was when it was asked."""

    ledger: Ledger
    rows: tuple[HistoryRow, ...]

    @classmethod
    def of(cls, ledger: Ledger) -> LedgerHistory:
        """Read the entries of a ledger, the newest first."""
        return cls(ledger, history(ledger))

    @property
    def statements(self) -> list[Download]:
        """The statement about all releases together, in several forms."""
        ledger = self.ledger
        return [
            Download("Page", "index.html", "text/html", lambda: page(make_product_card(ledger)).encode()),
            Download("Markdown", "index.md", "text/markdown", lambda: markdown(make_product_card(ledger)).encode()),
        ]

    def again(self, row: HistoryRow) -> Published:
        """Read what was handed out for an entry; it costs nothing."""
        text, folder = self.ledger.document(row.key), self.ledger.values_folder
        if text is None:
            hint = "publish the release again: it is paid for."
            raise LedgerError(f"nothing was handed out for entry {row.number}.", hint=hint)
        result = results.from_text(text, folder)
        number = number_of(self.ledger, result.name, row.key)
        return Published(result.name, result, f"entry {row.number} of {row.made}", folder, number)


def _nobody() -> None:
    pass


@dataclass(frozen=True, eq=False)
class Offer:
    """Releases that are planned and affordable, and wait for somebody to say yes. Nothing is spent by making one."""

    file: PolicyFile
    """What it was planned from, with the chosen releases alone."""
    batch: Batch

    @classmethod
    def of(
        cls,
        file: PolicyFile,
        folder: Path,
        names: Collection[str] | None = None,
        *,
        source: BitSource | None = None,
    ) -> Offer:
        """Plan releases of a file, all or those named; what exceeds the budget is refused, and no value is read."""
        chosen = tuple(each for each in file.releases if names is None or each.name in names)
        if not chosen:
            raise SpecError("no release is chosen.", hint="choose one, or add one under Releases.")
        asked = replace(file, releases=chosen)
        return cls(asked, Batch.of(asked, open_session(asked, folder, source=source)))

    @property
    def names(self) -> tuple[str, ...]:
        """The releases, in the order of the file."""
        return tuple(plan.name for plan in self.batch.plans)

    @cached_property
    def confirmation(self) -> Confirmation:
        """What must be said before somebody says yes."""
        batch = self.batch
        return confirmation(batch.plans, batch.earlier, batch.quote, batch.session.ledger)


@dataclass(frozen=True)
class Progress:
    """How far a publication is."""

    number: int
    """Which release is under way, from 1."""
    of: int
    name: str
    doing: str = ""
    """What is being done for it, in words of this package."""
    share: float | None = None
    """The share of that, 0 to 1; None while it cannot be known."""


@dataclass(frozen=True)
class Failed:
    """Why a publication ended before its end; the message says what was charged."""

    name: str
    message: str
    hint: str | None = None
    paid: bool | None = None
    """Whether the ledger holds a charge for it; None where the ledger does not answer."""


class Publication:
    """One run over confirmed releases. Everything may be asked from any thread, at any time."""

    def __init__(self, offer: Offer, changed: Callable[[], None] = _nobody) -> None:
        self.offer = offer
        self.progress: Progress | None = Progress(1, len(offer.names), offer.names[0])
        """How far it is; None once it is over."""
        self.failed: Failed | None = None
        """What went wrong, if something did. What was made before stays made."""
        self._changed = changed
        self._made: dict[str, Published] = {}
        self._stop, self._over = Event(), Event()
        self._thread = Thread(target=self._run, name="publication", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return not self._over.is_set()

    @property
    def published(self) -> Mapping[str, Published]:
        """What is made so far, by name."""
        return MappingProxyType(dict(self._made))

    @property
    def stopped(self) -> bool:
        """Whether somebody asked it to stop before all was made."""
        return self._stop.is_set() and len(self._made) < len(self.offer.names)

    @property
    def ending(self) -> str:
        """Say how many releases were made, and what the rest will cost, as far as that is known."""
        made, every = len(self._made), len(self.offer.names)
        if made == every:
            return f"{'The release is' if every == 1 else f'All {every} releases are'} made, and below."
        begun = f"{made} of {every} releases were made. Publish again for the rest"
        if self.failed is None:
            return f"{begun}: it was not begun."
        if self.failed.paid:
            return f"{begun}: {self.failed.name} is paid for and costs nothing more."
        return f"{begun}." if self.failed.paid is None else f"{begun}: nothing was charged for {self.failed.name}."

    def stop(self) -> None:
        """Begin no further release; the one under way is finished, since it may be charged already."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; say whether it came."""
        return self._over.wait(seconds)

    def _run(self) -> None:
        try:
            self._changed()
            plans = self.offer.batch.plans
            for number, plan in enumerate(plans, 1):
                if self._stop.is_set() or not self._release(plan, Progress(number, len(plans), plan.name)):
                    break
        finally:
            self.progress = None
            self._over.set()
            self._changed()

    def _release(self, plan: Plan, progress: Progress) -> bool:
        """Make one release; say whether it was made."""
        self.progress = progress
        try:
            with progress_to(_Sink(self._report)):
                result = self.offer.batch.release(plan)
        except BlowfishError as error:
            self.failed = Failed(plan.name, error.message, error.hint, self._paid(plan))
        except BaseException as error:
            # Only its kind is said: a message that is not ours may quote anything. Our notes say what was charged.
            notes = " ".join(getattr(error, "__notes__", ()))
            message = f"an internal error ({type(error).__name__}). {notes}".strip()
            self.failed = Failed(plan.name, message, paid=self._paid(plan))
        else:
            earlier = self.offer.batch.earlier.get(plan.key)
            paid, ledger = None if earlier is None else paid_by(earlier), self.offer.batch.session.ledger
            number = number_of(ledger, plan.name, plan.key)
            self._made[plan.name] = Published(plan.name, result, paid, ledger.values_folder, number)
        self._changed()
        return self.failed is None

    def _paid(self, plan: Plan) -> bool | None:
        try:
            entries = self.offer.batch.session.ledger.entries()
        except Exception:  # a ledger that does not answer must not hide what went wrong before
            return None
        return any(entry.key == plan.key and entry.charged for entry in entries)

    def _report(self, doing: str, share: float | None) -> None:
        if (now := self.progress) is not None:
            self.progress = replace(now, doing=doing, share=share)


class Publisher:
    """Makes publications, one at a time, and keeps the last."""

    def __init__(self, *, source: BitSource | None = None, changed: Callable[[], None] = _nobody) -> None:
        self._source, self._changed = source, changed
        self._starting = Lock()
        self.publication: Publication | None = None
        """The one under way, or the last."""

    @property
    def busy(self) -> bool:
        """Whether one is under way."""
        return self.publication is not None and self.publication.running

    def offer(self, file: PolicyFile, folder: Path, names: Collection[str] | None = None) -> Offer:
        """Plan what is to be published, all releases of a file or those named; see :meth:`Offer.of`."""
        return Offer.of(file, folder, names, source=self._source)

    def publish(self, offer: Offer) -> Publication:
        """Charge and make what was offered, in the background; ``changed`` hears of every step, in that thread."""
        with self._starting:
            if self.busy:
                raise SpecError("another publication is under way.", hint="wait for its end.")
            self.publication = Publication(offer, self._changed)
            self.publication.start()
            return self.publication

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the publication under way, if there is one; say whether it came."""
        return self.publication is None or self.publication.wait(seconds)


class _Sink:
    """Hears of the outermost task; what goes on inside it is part of it."""

    def __init__(self, report: Callable[[str, float | None], None]) -> None:
        self._report, self._free = report, Lock()

    def begin(self, title: str) -> Task:
        return _Task(title, self._report, self._free)


class _Task:
    """A task, which is shown unless another one is."""

    def __init__(self, title: str, report: Callable[[str, float | None], None], free: Lock) -> None:
        self._title, self._report, self._free = title, report, free
        self._shown = free.acquire(blocking=False)
        self.report(None)

    def report(self, share: float | None) -> None:
        if self._shown:
            self._report(self._title, share)

    def end(self) -> None:
        if self._shown:
            self._report("", None)
            self._free.release()
