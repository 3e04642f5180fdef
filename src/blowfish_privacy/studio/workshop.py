"""The workshop: what all tabs of a studio look at and change together.

Pages call it from one thread. Planning and publishing run in others, and tell of themselves through :attr:`post`, which
hands a call over to the pages' thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

from blowfish_privacy.engines import located
from blowfish_privacy.errors import BlowfishError, DataError, QueryError, SpecError
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import refusal_of_facts, what_facts_do
from blowfish_privacy.privacy.measure import EPSILON, RHO, Strength
from blowfish_privacy.release.plan import CautiousNumbers
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.results.files import is_release
from blowfish_privacy.statements.facts import FactsView, facts_view
from blowfish_privacy.statements.policy import lost_between
from blowfish_privacy.studio.declaring import with_data
from blowfish_privacy.studio.draft import Draft, Problem, is_remote, tried
from blowfish_privacy.studio.planning import Outcome, PlanCache, Planning, PublicAnswers
from blowfish_privacy.studio.publishing import Offer, Publisher
from blowfish_privacy.support import yaml_edit
from blowfish_privacy.support.exact import is_positive, rounded_up, stated_amount
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.postgresql import confirm, is_address, is_confirmed, named_servers

# Telling whoever looks that something changed.

Listener: TypeAlias = Callable[[], None]


class Signal:
    """Calls its listeners, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Listener:
        """Call ``listener`` from now on; what is returned ends that."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def fire(self) -> None:
        """Call every listener; one that leaves while others are called is not called any more.

        One that fails keeps nothing from the others, which may be other tabs; its error is raised at the end.
        """
        errors: list[Exception] = []
        for listener in [*self._listeners]:
            if listener in self._listeners:
                try:
                    listener()
                except Exception as error:
                    errors.append(error)
        if errors:
            raise errors[0]


class Workshop:
    """A draft, its plans, and what is being published; three signals say when one of them changed.

    ``source`` replaces the operating system's random bits, for tests: releases made with it say that they are not
    private. ``plan=False`` leaves planning to :meth:`begin`, so that the first page need not wait for it.
    """

    def __init__(self, draft: Draft, *, source: BitSource | None = None, plan: bool = True) -> None:
        self.draft = draft
        self.changed, self.planned, self.published = Signal(), Signal(), Signal()
        self.post: Callable[[Listener], None] = lambda act: act()
        """Calls something in the pages' thread; the launch replaces it by the server's way."""
        self.publisher = Publisher(source=source, changed=lambda: self.post(self._moved))
        self.planning: Planning | None = None
        """The latest plans; :attr:`stale` says whether the file has changed since."""
        self.planning_problem: Problem | None = None
        self.stale = draft.good is not None
        self._cache = PlanCache()
        self._planner = ThreadPoolExecutor(1, "planning")
        self._wanted: tuple[PolicyFile, Path] | None = None
        if plan:
            self.replan()

    @property
    def file(self) -> PolicyFile | None:
        """The file as it was when it was last valid; None before there is a policy."""
        return self.draft.good

    @property
    def policy(self) -> Policy:
        """The policy of the file as it was when it was last valid; asked only where there is one."""
        if self.file is None:
            raise RuntimeError("there is no policy yet")
        return self.file.policy

    @property
    def unfinished(self) -> bool:
        """Whether the file has no policy yet."""
        return self.draft.file is None and self.draft.problem is None

    @property
    def broken(self) -> bool:
        """Whether the text is wrong, so that forms have nothing to change."""
        return self.draft.problem is not None

    @property
    def body(self) -> dict[str, Any]:
        """The plain values of the file, to be changed and handed to :meth:`change`; empty while the text is wrong."""
        body = self.draft.body
        return body if isinstance(body, dict) else {}

    @property
    def good_body(self) -> dict[str, Any]:
        """The plain values of the last valid file, to be looked at and not changed; empty before there is one."""
        return {} if self.file is None else self.draft.good_body

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """What became of planning the releases, as far as it is known."""
        return () if self.planning is None else self.planning.outcomes

    def outcome(self, name: str) -> Outcome | None:
        """Return what became of planning the release with this name, if that is known."""
        return None if self.planning is None else self.planning.outcome(name)

    @property
    def data(self) -> str | None:
        """Where the data are, as an engine opens them."""
        named = self.body.get("data")
        return None if not isinstance(named, str) or not named else located(named, self.draft.folder)

    @property
    def unconfirmed(self) -> list[str]:
        """The servers that the file names and that this user has not confirmed: nothing is asked of them."""
        named, found = (self.body.get(key) for key in ("data", "ledger")), dict[str, None]()
        for each in named:
            if isinstance(each, str) and is_remote(each):
                with suppress(BlowfishError):
                    found |= dict.fromkeys(named_servers(each))
        return [server for server in found if not is_confirmed(server)]

    def confirm(self, server: str) -> None:
        """Remember that this user knows a server, and plan with what it says."""
        confirm(server)
        self.changed.fire()
        self.replan()

    @property
    def suggested_path(self) -> Path:
        """Where a new file would be saved: named after its data, in the folder that relative paths start from."""
        if self.draft.path is not None:
            return self.draft.path
        named = self.body.get("data")
        stem = Path(named).stem if isinstance(named, str) and "://" not in named else ""
        return (self.draft.folder / f"{stem or 'release'}.yaml").absolute()

    @property
    def another_path(self) -> Path:
        """A name beside the file that no file has yet, to save it under too."""
        path = self.suggested_path
        names = (path if number == 1 else path.with_stem(f"{path.stem}-{number}") for number in count(1))
        return next(name for name in names if not name.exists())

    def change(self, body: Any) -> Problem | None:
        """Take new plain values from a form; nothing changes, and the problem is returned, if they are not valid."""
        if self.broken:
            wrong = self.draft.problem
            return Problem("the file has an error.", "mend it in the file, or undo.", wrong and wrong.line)
        problem = self.draft.change(body)
        if problem is None:
            self._tell()
        return problem

    def write(self, text: str) -> None:
        """Take a whole text from the editor, valid or not."""
        self.draft.write(text)
        self._tell()

    def undo(self) -> None:
        """Take back the last change."""
        if self.draft.undo():
            self._tell()

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        if self.draft.redo():
            self._tell()

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the file; see :meth:`.Draft.save`."""
        self.draft.save(path, replace=replace)
        self._tell()

    def publish(self, offer: Offer, text: str) -> None:
        """Begin to publish what was offered when the file had this text, and save that first; refuse another file."""
        if self.broken or self.draft.text != text:
            raise SpecError("the file has changed since you were asked.", hint="cancel, and review it again.")
        if not self.draft.saved and self.draft.path is not None:
            self.save(self.draft.path)
        # What is published belongs to the file on disk, which others may have changed meanwhile.
        self.draft.check_on_disk()
        self.publisher.publish(offer)

    def begin(self) -> None:
        """Plan, unless that was done before."""
        if self._wanted is None:
            self.replan()

    def replan(self) -> None:
        """Plan the file anew in the background: after a change of it, or of its ledger. The latest wish wins."""
        file = self.file
        self._wanted = None if file is None else (file, self.draft.folder)
        self.stale = self._wanted is not None
        if self._wanted is None:
            self.planning, self.planning_problem = None, None
        else:
            self._planner.submit(self._plan, self._wanted)
        self.planned.fire()

    def close(self) -> None:
        """Let the planner go; what is being published is not touched."""
        self._planner.shutdown(wait=False, cancel_futures=True)

    def _tell(self) -> None:
        self.changed.fire()
        if self._wanted is None or self._wanted != (self.file, self.draft.folder):
            self.replan()

    def _plan(self, wanted: tuple[PolicyFile, Path]) -> None:
        if wanted is not self._wanted:
            return
        made = tried(lambda: Planning.of(*wanted, self._cache), "planning failed", "look at the file.")

        def take() -> None:
            if wanted is self._wanted:
                self.planning = None if isinstance(made, Problem) else made
                self.planning_problem = made if isinstance(made, Problem) else None
                self.stale = False
                self.planned.fire()

        self.post(take)

    def _moved(self) -> None:
        self.published.fire()
        if not self.publisher.busy:
            self.replan()


# The loss at which the studio compares two values: a number of one's own, the whole budget, or that of a release.

OWN, BUDGET = "own", "budget"
_RELEASE = "release: "


@dataclass
class ChosenLoss:
    """What one tab compares values at."""

    workshop: Workshop
    which: str = BUDGET
    own: Fraction = Fraction(1, 2)

    def options(self) -> dict[str, str]:
        """Name what can be chosen; plans that are made say what their releases lose."""
        found: dict[str, str] = {}
        budget = None if self.workshop.file is None else self.workshop.file.budget
        if budget is not None and budget.measure in (EPSILON, RHO):
            found[BUDGET] = f"the whole budget ({Strength(budget.measure, budget.amount).words})"
        planning = self.workshop.planning
        for plan in [] if planning is None else planning.plans:
            if plan.amount:
                lost = f"{plan.certificate.loss.measure.name} {rounded_up(plan.amount)}"
                found[f"{_RELEASE}{plan.name}"] = f"the release {plan.name} ({lost})"
        return {**found, OWN: "an epsilon of my own"}

    @property
    def chosen(self) -> str:
        """What is chosen, as far as it still exists."""
        return self.which if self.which in self.options() else OWN

    def strength(self, names: frozenset[str]) -> Strength:
        """Return the loss on pairs that change these attributes."""
        chosen, file, planning = self.chosen, self.workshop.file, self.workshop.planning
        if chosen == BUDGET and file is not None and file.budget is not None:
            return Strength(file.budget.measure, file.budget.amount)
        for plan in [] if planning is None else planning.plans:
            # While the file has changed a plan may belong to another policy than the one that is shown.
            known = file is not None and all(name in plan.policy.domain for name in names)
            if chosen == f"{_RELEASE}{plan.name}" and known:
                return lost_between(plan, names)
        return Strength(EPSILON, self.own)

    def take(self, text: str) -> bool:
        """Take an epsilon that somebody wrote; say whether it is one."""
        if self.wrong(text) is not None:
            return False
        self.own = stated_amount(text, "epsilon", error=QueryError)
        return True

    @staticmethod
    def wrong(text: str) -> str | None:
        """Say what is wrong with an epsilon that somebody wrote."""
        if not is_positive(text):
            return "a number above 0"
        try:
            stated_amount(text, "epsilon", error=QueryError)
        except QueryError as error:
            return error.message
        return None


# What known facts do to the releases of a file, worked out in the background; the latest file wins.


@dataclass(frozen=True)
class Effects:
    """What the facts of one file do, in words and for each release."""

    file: PolicyFile
    words: tuple[str, ...] = ()
    refused: Problem | None = None
    """Why the facts allow for no full table, which the words say."""
    view: FactsView | None = None
    problem: Problem | None = None

    @property
    def refusals(self) -> list[Problem]:
        """Why releases are refused, each reason once; what the words of the facts say already is not repeated."""
        given = [] if self.view is None else [effect.given for effect in self.view.together]
        reasons = dict.fromkeys(Problem(each.refusal, each.hint) for each in given if each.refusal is not None)
        return [reason for reason in reasons if reason != self.refused]


class FactEffects:
    """Looks at a workshop whenever it is told to; :attr:`worked_out` fires in the pages' thread."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self.worked_out = Signal()
        self.latest: Effects | None = None
        self.turn = 0
        """How often the file was another one, or something was worked out."""
        self._wanted: PolicyFile | None = None
        self._answers = PublicAnswers()
        self._worker = ThreadPoolExecutor(1, "facts")
        self.follow()

    @property
    def stale(self) -> bool:
        """Whether the file has changed since."""
        return self.latest is None or self.latest.file is not self._workshop.file

    def follow(self) -> None:
        """Work out the effects of the file as it is now, if it is another one."""
        file = self._workshop.file
        if file is None or file is self._wanted:
            return
        self._wanted, self.turn = file, self.turn + 1
        if file.policy.known:
            self._worker.submit(self._work, file)
        else:
            self.latest = Effects(file)
        self.worked_out.fire()

    def close(self) -> None:
        """Let the worker go."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _work(self, file: PolicyFile) -> None:
        if file is not self._wanted:
            return
        numbers = CautiousNumbers(file.policy, partial(self._answers.of, file.data, self._workshop.draft.folder))

        def effects() -> Effects:
            try:
                words, refused = tuple(what_facts_do(file.policy)), refusal_of_facts(file.policy)
            except BlowfishError as error:
                words, refused = (error.message,), error
            said = None if refused is None else Problem(refused.message, refused.hint)
            return Effects(file, words, said, facts_view(file.policy, file.releases, numbers))

        made = tried(effects, "this could not be worked out")

        def take() -> None:
            if file is self._wanted:
                self.latest = Effects(file, problem=made) if isinstance(made, Problem) else made
                self.turn += 1
                self.worked_out.fire()

        self._workshop.post(take)


# What the studio begins with, and what it leaves behind when it ends with something unsaved.

_POLICY_FILES = (".yaml", ".yml", ".json")
_KEPT = ".draft"


def opened(file: str | None) -> tuple[Workshop, list[str]]:
    """Begin with a policy file, with a table that has none yet, or with nothing; and what there is to say about it."""
    if file is None:
        return Workshop(Draft(folder=Path.cwd()), plan=False), []
    path = Path(file)
    if is_release(path):
        raise SpecError(f"{file} is a release, no policy file.", hint="name the policy file that it was made with.")
    if path.suffix.lower() in _POLICY_FILES:
        draft = Draft.open(path)
    elif is_address(file):
        draft = Draft(yaml_edit.edited("", with_data({}, file)), folder=Path.cwd())
    elif path.exists():
        # Saved beside its table, the file stays where it was, so that nothing need be planned anew.
        draft = Draft(yaml_edit.edited("", with_data({}, path.name)), folder=path.absolute().parent)
    else:
        raise SpecError(f"there is no {file}.", hint="name a policy file (.yaml), a table, or nothing.")
    workshop = Workshop(draft, plan=False)
    kept = [each for each in _places(workshop) if each.exists()]
    return workshop, [f"{each} has what was not saved when a studio ended." for each in kept]


def keep_unsaved(workshop: Workshop) -> Path | None:
    """Write a text that was changed and not saved beside its file; return where, if there is one.

    Where that cannot be done, because the disk is full, say, the text goes to the system's temporary folder.
    """
    draft = workshop.draft
    if draft.saved or not draft.can_undo:
        return None
    content = draft.text.encode()
    try:
        return _kept_beside(workshop, content)
    except DataError as error:
        reason = error.message
    try:
        # In a new folder that only this user can enter.
        place = Path(mkdtemp(prefix="blowfish-draft-")) / f"{workshop.suggested_path.name}{_KEPT}"
        try:
            write_atomically(place, content)
        except DataError:
            place.parent.rmdir()
            raise
        return place
    except (DataError, OSError):
        # What the second place had to say would not help: the first one is where the text belongs.
        raise DataError(
            f"what was not saved is lost: {reason}", hint="nothing could be written to the temporary folder either."
        ) from None


def _kept_beside(workshop: Workshop, content: bytes) -> Path:
    for place in _places(workshop):
        try:
            if not place.exists():
                write_atomically(place, content)
            elif place.read_bytes() != content:
                continue
        except OSError as error:
            raise DataError(f"{place} cannot be read: {error.strerror}.") from None
        return place
    raise DataError("too many drafts are kept beside it.")


def _places(workshop: Workshop) -> list[Path]:
    own = workshop.suggested_path
    return [own.with_name(f"{own.name}{_KEPT}{number}") for number in ("", *(f"-{each}" for each in range(2, 100)))]
