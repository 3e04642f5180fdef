"""What known facts do to the releases of a file, worked out in the background; the latest file wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.release.plan import CautiousNumbers
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.statements.facts import FactsView, facts_view, what_facts_do
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.public_answers import PublicAnswers
from blowfish_privacy.studio.signal import Signal
from blowfish_privacy.studio.workshop import Workshop


@dataclass(frozen=True)
class Effects:
    """What the facts of one file do, in words and for each release."""

    file: PolicyFile
    words: tuple[str, ...] = ()
    view: FactsView | None = None
    problem: Problem | None = None

    @property
    def refusals(self) -> list[Problem]:
        """Why releases are refused, each reason once."""
        given = [] if self.view is None else [effect.given for effect in self.view.together]
        reasons = dict.fromkeys(Problem(each.refusal, each.hint) for each in given if each.refusal is not None)
        # What the words of the facts say already is not said twice.
        return [reason for reason in reasons if not any(reason.message in sentence for sentence in self.words)]


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
        try:
            folder = self._workshop.draft.folder
            numbers = CautiousNumbers(file.policy, partial(self._answers.of, file.data, folder))
            found = Effects(file, _words(file), facts_view(file.policy, file.releases, numbers))
        except BlowfishError as error:
            found = Effects(file, problem=Problem.of(error))
        except Exception as error:
            # What is not ours may quote anything, so only its kind is said.
            found = Effects(file, problem=Problem(f"this could not be worked out ({type(error).__name__})."))
        self._workshop.post(partial(self._take, found))

    def _take(self, found: Effects) -> None:
        if found.file is self._wanted:
            self.latest, self.turn = found, self.turn + 1
            self.worked_out.fire()


def _words(file: PolicyFile) -> tuple[str, ...]:
    try:
        return tuple(what_facts_do(file.policy))
    except BlowfishError as error:
        return (error.message,)
