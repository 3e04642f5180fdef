"""The one place where data are read and noise is added: certify, charge, read, perturb, record, hand out.

A short budget means that no value is read. The charge is durable before the data are touched; the finished document is
stored in the ledger before anybody sees it, so there are never two different outputs under one charge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import AttributeSets
from blowfish_privacy.aggregates.aggregates import marginal
from blowfish_privacy.domain import Cell
from blowfish_privacy.engines import Engine, check_countable
from blowfish_privacy.errors import BlowfishError, DataError, QueryError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.ledger.entry import labelled
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import stated_facts
from blowfish_privacy.privacy.measure import EPSILON
from blowfish_privacy.privacy.public_totals import BlockForm
from blowfish_privacy.queries import Asked
from blowfish_privacy.queries.query import split
from blowfish_privacy.release import checks, document, spec
from blowfish_privacy.release.checks import EngineAggregates, counted, public_records
from blowfish_privacy.release.document import KEY, KeptValues, Noisy, keep, published, settle
from blowfish_privacy.release.groups import join, proved
from blowfish_privacy.release.plan import Plan, sliced, title
from blowfish_privacy.support.progress import task

# Keys of releases: the same question to the same data is the same release, however often it is asked.

MADE_BEFORE = (
    "the ledger holds this release from an earlier session: it is handed out as it was, at no cost, whatever has "
    "happened to the data since. new=True releases anew."
)


def content_key(data: str | None, plan: Plan) -> str:
    """Name a release by its content and its data, so that asking again finds what was released before.

    The content is the name, the query, the mechanism with its scales, and the domain in its order. Data are known by
    their path or address alone: a key is published, so no value may have a part in it. Tables in memory have no name;
    they are the table that the ledger is kept for.
    """
    kind = "memory" if data is None else "file"
    label = labelled(title(plan.name, plan.query, plan.selection), checks.content_of(plan))
    return f"{kind}-{sha256(f'{data} {plan.policy.hash} {label}'.encode()).hexdigest()[:32]}"


def may_be_paid(entries: Iterable[Entry], policy: Policy, *, name: str, query: Asked, amount: Fraction) -> bool:
    """Say whether one of the charges may be that of a release which is not planned yet; its plan will tell."""
    described = title(name, *split(query))
    alike = (each for each in entries if each.policy.hash == policy.hash and each.description == described)
    # Laplace noise in place of Gaussian may cost a little less.
    return any(each.epsilon == amount if each.loss.measure is EPSILON else each.epsilon <= amount for each in alike)


class SessionKeys:
    """The keys that a session gives to its releases, and which of them it has released under."""

    def __init__(self, data: object) -> None:
        self._data = str(data) if isinstance(data, str | Path) else None
        self._released: dict[str, bool] = {}

    def choose(self, plan: Plan, *, key: str | None, new: bool) -> str:
        """Take the key that was given, a new one if a new release is asked for, or the one of the content."""
        if new and key is not None:
            raise QueryError("a key names one release, and new=True asks for another.", hint="give one of the two.")
        if new or key is not None:
            return uuid4().hex if key is None else key
        content = content_key(self._data, plan)
        self._released.setdefault(content, False)
        return content

    def made_before(self, key: str, ledger: Ledger) -> bool:
        """Say whether the content of a release led to one that another session made."""
        return self._released.get(key) is False and ledger.document(key) is not None

    def released(self, key: str) -> None:
        """Note that this session has released under a key."""
        self._released[key] = True


# Asking the data and adding the noise: exact counts stay in here.


@dataclass(frozen=True, eq=False)
class NoisyAnswers:
    """Noisy answers, and what else of the data is public."""

    noisy: Noisy
    records: int | None
    totals: Mapping[str, list[int]]
    """The exact counts of blocks that no secret pair leaves, as the document states them; empty if there are none."""


def looks_at(plan: Plan, mechanism: Mechanism) -> tuple[tuple[str, ...], AttributeSets]:
    """Name the attributes that a plan looks at, and the sets of them that will be counted."""
    if not plan.selection:
        counted = [] if _blocks(plan, mechanism) is None else [plan.query.attributes]
        return plan.query.attributes, [*mechanism.tables(plan.query), *counted]
    names = tuple(dict.fromkeys([*plan.selection.attributes, *plan.query.attributes]))
    return names, [names]


def draw(
    engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource, folder: Path | None = None
) -> dict[Cell, NoisyAnswers]:
    """Answer a plan with noise, each of its groups, if it has any; given a folder, the values are kept in it."""
    if plan.selection:
        return _draw_groups(engine, plan, mechanisms, source)
    mechanism = mechanisms[()]
    aggregates = EngineAggregates(engine, plan, _blocks(plan, mechanism))
    if folder is None:
        noisy: Noisy = mechanism.draw(aggregates, source)
    else:
        noisy = keep(folder, plan.key, mechanism.rows, mechanism.pieces(aggregates, source))
    totals = aggregates.totals()
    stated = {} if totals is None else {KEY: totals}
    return {(): NoisyAnswers(noisy, public_records(plan, aggregates.records), stated)}


def _blocks(plan: Plan, mechanism: Mechanism) -> npt.NDArray[np.int64] | None:
    """Return the block of each cell, where counts of blocks are published beside the noisy answers."""
    return published(plan.query, plan.population.policy, mechanism) if plan.amount else None


def _draw_groups(
    engine: Engine, plan: Plan, mechanisms: Mapping[Cell, Mechanism], source: BitSource
) -> dict[Cell, NoisyAnswers]:
    """Count the records of all groups in one scan, and answer each group by itself."""
    names, tables = looks_at(plan, mechanisms[next(iter(mechanisms))])
    (counts,) = counted(engine, plan, tables)
    public_records(replace(plan, records=None), int(counts.sum()))
    inside = sliced(counts, plan.policy.domain.project(names), plan.selection.box(plan.policy.domain))
    groups = marginal(inside, names, [*plan.selection.by, *plan.query.attributes])
    own = plan.query.own_domain(plan.policy.domain)

    def of_group(cell: Cell, mechanism: Mechanism) -> NoisyAnswers:
        part = plan.parts.get(cell, plan)
        table = np.ascontiguousarray(groups[cell])
        records = int(table.sum()) if part.population.public else None
        if part.records not in (None, records):
            raise DataError("the number of rows is not the one that the plan was made for.", hint="make a new plan.")
        blocks = _blocks(part, mechanism)
        totals = {} if blocks is None else {KEY: BlockForm(own, blocks).answer(table).tolist()}
        return NoisyAnswers(mechanism.measure(table, source), records, totals)

    with task("Drawing noise"):
        return {cell: of_group(cell, mechanism) for cell, mechanism in mechanisms.items()}


# From an answer to a recorded document: errors on the way show no count, and say what was charged.


def record_answer(ledger: Ledger, entry: Entry, answer: Callable[[], dict[str, Any]]) -> str:
    """Record the answer to a charge and return its document; what goes wrong says what was charged."""
    try:
        return ledger.record(entry.key, _out_of_sight(answer))
    except BlowfishError as error:
        failed = type(error)(f"{error.message} {_charged(entry)}", hint=error.hint)
    except BaseException as error:
        error.add_note(_charged(entry))
        raise
    raise failed


def settled(folder: Path | None, key: str, text: str) -> str:
    """Return a document that is recorded, once its values, if they are kept in a folder, have their name there."""
    values = None if folder is None else json.loads(text)["values"]
    if folder is not None and isinstance(values, dict):
        settle(folder, key, KeptValues.from_document(values))
    return text


def _charged(entry: Entry) -> str:
    if not entry.charged:
        return "Nothing was charged."
    cost = entry.loss.measure.brief(entry.charged)
    return (
        f"Its cost, {cost}, was charged (entry {entry.number} of the ledger) and stays spent. Correct the data, and "
        "the same release costs nothing more. Change the declaration, and it is a release under another policy: it is "
        "charged again, or refused by this ledger where the two policies do not add up; blowfish plan says which, "
        "before anything is spent."
    )


def _out_of_sight(answer: Callable[[], dict[str, Any]]) -> str:
    """Run what handles exact counts, and noisy ones that are not recorded yet; return the document.

    An error leaves without the frames in which a traceback would show them.
    """
    try:
        return document.dumps(answer())
    except BlowfishError as error:
        clean = type(error)(error.message, hint=error.hint)
    except Exception as error:
        clean = DataError(f"the release stopped at an internal error ({type(error).__name__}); nothing was handed out.")
    raise clean


NO_MECHANISM = "none (exact)"
"""What a ledger says of a release without noise."""


@dataclass(frozen=True, eq=False)
class ReleaseRunner:
    """Runs plans over one table, under one policy and one ledger."""

    policy: Policy
    """The policy whose domain the data are declared in."""
    open: Callable[[], Engine]
    """Opens the data; not called when the ledger already holds the answer."""
    ledger: Ledger
    source: BitSource

    def release(self, plan: Plan) -> str:
        """Run a plan and return its document."""
        checks.check_policy(plan, self.policy)
        plan = proved(plan, self.policy)
        parts = plan.parts or {(): plan}
        mechanisms = {cell: part.mechanism for cell, part in parts.items()}
        engine = self._ready(plan, *looks_at(plan, next(iter(mechanisms.values()))))
        entry = self.ledger.charge(
            loss=plan.certificate.loss,
            policy=self.policy,
            key=plan.key,
            description=title(plan.name, plan.query, plan.selection),
            content=checks.content_of(plan),
            mechanism=plan.certificate.mechanism if plan.amount else NO_MECHANISM,
            policy_text=self.policy_text,
        )
        handed_out = self.ledger.document(plan.key)
        folder = checks.values_folder(plan, self.ledger)
        if handed_out is not None:
            return settled(folder, plan.key, handed_out)

        def answer() -> dict[str, Any]:
            opened = engine or self.open()
            checks.check_order(opened, self.policy, self.policy_text, self.ledger)
            checks.compare_facts(opened, plan, self.ledger)
            drawn = draw(opened, plan, mechanisms, self.source, folder)
            return self._written(plan, {cell: (part, drawn[cell]) for cell, part in parts.items()}, entry)

        return settled(folder, plan.key, record_answer(self.ledger, entry, answer))

    def _ready(self, plan: Plan, names: Sequence[str], tables: AttributeSets) -> Engine | None:
        """Find out before the charge, without reading a row, whether the data can be asked and the answer stored."""
        if self.ledger.document(plan.key) is not None:
            return None
        checks.check_storable(plan, self.ledger)
        checks.check_readable(plan)
        check_countable(plan.policy.domain.project(names), tables)
        engine = self.open()
        checks.check_order(engine, self.policy, self.policy_text, self.ledger)
        engine.prepare(plan.policy.domain, names)
        for fact in stated_facts(plan.policy):
            engine.prepare(plan.policy.domain, fact.attributes)
        return engine

    @cached_property
    def policy_text(self) -> str:
        """The policy as a ledger stores it."""
        return spec.dumps(self.policy)

    def _written(self, plan: Plan, drawn: Mapping[Cell, tuple[Plan, NoisyAnswers]], entry: Entry) -> dict[str, Any]:
        """Write the document of what was drawn."""
        with task("Writing the document"):
            time = datetime.now(UTC).isoformat(timespec="seconds")
            source = document.Randomness(self.source.kind, self.source.private)
            options: dict[str, Any] = {"source": source, "time": time, "entry": entry.number}
            bodies = {
                cell: {**document.write(part, each.noisy, **options), "records": each.records, **each.totals}
                for cell, (part, each) in drawn.items()
            }
            return join(plan, bodies, **options) if plan.parts else bodies[()]
