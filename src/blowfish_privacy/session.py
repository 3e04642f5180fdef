"""A session: data, a policy, a budget; plans that read no values, releases that charge first."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar, Unpack, overload
from warnings import warn

from blowfish_privacy import results
from blowfish_privacy.engines import Engine, open_engine
from blowfish_privacy.errors import (
    BlowfishWarning,
    DataError,
    LedgerError,
    PolicyError,
    QueryError,
    RefusalError,
    brief,
)
from blowfish_privacy.ledger import Ledger, SqliteLedger, create_ledger, open_ledger
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.ledger.ledger import check_same_budget
from blowfish_privacy.noise import BitSource, SystemSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss, classes_met
from blowfish_privacy.privacy.measure import Budget, BudgetLike
from blowfish_privacy.queries import (
    Asked,
    Cumulative,
    Histogram,
    KMeans,
    Linear,
    Quantiles,
    Query,
    RangeGrid,
    Ranges,
    Selected,
    Sum,
    Synthetic,
    Tables,
)
from blowfish_privacy.queries.query import checked_groups, looked_at, split
from blowfish_privacy.release.checks import PolicyCheck, check_data
from blowfish_privacy.release.plan import Plan, PublicNumbers, costs, make_plan
from blowfish_privacy.release.run import MADE_BEFORE, ReleaseRunner, SessionKeys, may_be_paid
from blowfish_privacy.release.spec import load_policy
from blowfish_privacy.release.target import Options, Target
from blowfish_privacy.release.verification import proof_of
from blowfish_privacy.results.synthetic import Comparison, compare
from blowfish_privacy.statements.card_page import Card

# Releases for each value of public attributes, at the cost of the costliest group.


class Parallel:
    """Releases for groups of records that no secret pair meets two of: ``session.release(query.by(..))``, checked."""

    def __init__(self, session: Session, attributes: tuple[str, ...]) -> None:
        self._session, self._by = session, checked_groups(attributes)
        for name in self._by:
            _ = session.policy.domain[name]
            if session.policy.graph.changes(name):
                raise RefusalError(
                    f"releases for each value of {name} cannot be charged their maximum: {name} is secret, so a "
                    "person may move between groups.",
                    hint="release the query by(..) it: the noise then covers both groups.",
                )

    def release(self, query: Asked, **options: Any) -> Any:
        """Release a query for each group; options are those of :meth:`Session.release`."""
        plain, selection = split(query)
        return self._session.release(Selected(plain, selection).by(*self._by), **options)


Asks = TypeVar("Asks", bound=Query)


class Session:
    """Plans and releases over one table, under one policy and one budget.

    ``ledger`` is the path of the file, or the address of the PostgreSQL schema, that keeps what was spent; without it
    the budget holds for this session only. A ledger that is there is opened; ``create=True`` makes one with ``budget``:
    a number is one of epsilon; ``{"rho": ..}`` and ``{"epsilon": .., "delta": ..}`` admit Gaussian noise too.
    The same release asked for again is handed out again as it was and costs nothing, unless ``new=True``: the same
    policy, query, mechanism, epsilon and name, over data of the same path or address. Tables in memory have no name;
    they are the table that the ledger is kept for.
    ``source`` replaces the operating system's random bits, for tests: releases made with it say that they are not
    private.
    """

    def __init__(
        self,
        data: Any,
        policy: Policy,
        *,
        budget: BudgetLike | None = None,
        ledger: str | Path | Ledger | None = None,
        create: bool = False,
        source: BitSource | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise PolicyError(f"a session needs a Policy, got {type(policy).__name__}.")
        self.policy = policy
        self.ledger: Ledger = self._open_ledger(budget, ledger, create=create)
        self.ledger.prove = proof_of
        self._data = data
        self._engine: Engine | None = None
        if source is not None and not hasattr(source, "words"):
            raise QueryError(f"a source of random bits is needed, got {brief(source)}.")
        self._source: BitSource = SystemSource() if source is None else source
        self.keys: SessionKeys = SessionKeys(data)

    def _open_ledger(self, budget: BudgetLike | None, ledger: str | Path | Ledger | None, *, create: bool) -> Ledger:
        terms = None if budget is None else Budget.read(budget, "budget", error=LedgerError)
        if create and not isinstance(ledger, str | Path):
            raise LedgerError("create makes the ledger that a path or an address names.", hint='ledger="name.ledger".')
        if isinstance(ledger, Ledger):
            check_same_budget("the ledger", ledger.terms, terms)
            return ledger
        if ledger is not None and not isinstance(ledger, str | Path):
            raise LedgerError(f"a ledger is given by its path or address, got {brief(ledger)}.")
        if ledger is not None and not create:
            return open_ledger(ledger, budget=terms, load_policy=load_policy)
        if terms is None:
            raise LedgerError(
                f"a {'new ledger' if create else 'session'} needs a budget.",
                hint='budget="1.0"; to keep it, ledger="name.ledger", the first time with create=True.',
            )
        if ledger is not None:
            return create_ledger(ledger, budget=terms, load_policy=load_policy)
        folder = tempfile.TemporaryDirectory(prefix="blowfish-")
        weakref.finalize(self, folder.cleanup)
        return SqliteLedger.create(Path(folder.name) / "session.ledger", budget=terms, load_policy=load_policy)

    def __repr__(self) -> str:
        return f"<Session of policy {self.policy.hash[:12]}, {self.ledger!r}>"

    @property
    def engine(self) -> Engine:
        """The data engine; opening it reads no row."""
        if self._engine is None:
            self._engine = open_engine(self._data)
        return self._engine

    @property
    def remaining(self) -> Fraction:
        """What is left of the budget."""
        return self.ledger.remaining

    @overload
    def plan(self, query: Asks, **options: Unpack[Options]) -> Plan[Asks]: ...
    @overload
    def plan(self, query: Asked, *, mechanism: str | None = None, **options: Unpack[Options]) -> Plan: ...
    def plan(
        self,
        query: Asked,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        noise: str | None = None,
        mechanism: str | None = None,
        name: str = "release",
        key: str | None = None,
        new: bool = False,
    ) -> Plan:
        """Choose a mechanism and say what it proves, costs and how wrong it will be. Reads no values, spends nothing.

        Give ``epsilon``, ``rho``, or ``error`` (root mean squared) to solve for it; ``delta`` beside epsilon allows
        noise that keeps (epsilon, delta); ``noise`` is ``"laplace"`` or ``"gaussian"``, by default the more
        accurate that is allowed. Where the number of rows is needed and the policy makes it public without stating
        it, that number alone is read from the data; what exceeds the budget is refused before that. A plan of the same
        content is a plan for the same release, unless ``new=True`` asks for another one, with noise of its own; ``key``
        names the release by a text of your own instead.
        """
        plain, selection = split(query)
        target = Target.of(epsilon=epsilon, rho=rho, delta=delta, error=error, noise=noise, ledger=self.ledger.measure)
        records, sizes = self.policy.records, None
        if plain.needs_records and self.policy.size != "unknown" and (selection or records is None):
            self._check_affordable(query, target, name, key, new=new)
            ask = PublicNumbers(self.policy, lambda: self.engine)
            records, sizes = ask.records(query), ask.sizes(query)
        plan = make_plan(
            query,
            self.policy,
            target=target,
            mechanism=mechanism,
            records=records,
            sizes=sizes,
            name=name,
        )
        return replace(plan, key=self.keys.choose(plan, key=key, new=new))

    @overload
    def release(self, query: Histogram | Plan[Histogram], **options: Unpack[Options]) -> results.HistogramResult: ...
    @overload
    def release(self, query: Quantiles | Plan[Quantiles], **options: Unpack[Options]) -> results.QuantilesResult: ...
    @overload
    def release(self, query: Ranges | Plan[Ranges], **options: Unpack[Options]) -> results.RangesResult: ...
    @overload
    def release(self, query: Cumulative | Plan[Cumulative], **options: Unpack[Options]) -> results.CumulativeResult: ...
    @overload
    def release(self, query: RangeGrid | Plan[RangeGrid], **options: Unpack[Options]) -> results.GridResult: ...
    @overload
    def release(self, query: Sum | Plan[Sum], **options: Unpack[Options]) -> results.NumberResult: ...
    @overload
    def release(self, query: Linear | Plan[Linear], **options: Unpack[Options]) -> results.VectorResult: ...
    @overload
    def release(self, query: KMeans | Plan[KMeans], **options: Unpack[Options]) -> results.ClustersResult: ...
    @overload
    def release(self, query: Tables | Plan[Tables], **options: Unpack[Options]) -> results.TablesResult: ...
    @overload
    def release(self, query: Synthetic | Plan[Synthetic], **options: Unpack[Options]) -> results.SyntheticResult: ...
    @overload
    def release(self, query: Plan | Asked, *, mechanism: str | None = None, **options: Unpack[Options]) -> Any: ...
    def release(self, query: Plan | Asked, **options: Any) -> Any:
        """Certify, charge, read, perturb, record, and hand out; options are those of :meth:`plan`.

        The same again, also in another session with the same ledger, is handed out as it was and costs nothing. An
        error after the charge says what was charged.
        """
        if isinstance(query, Plan):
            if options:
                raise QueryError("a plan has its options already.", hint="give them to session.plan.")
            plan = query
        else:
            plan = self.plan(query, **options)
        earlier = self.keys.made_before(plan.key, self.ledger)
        result = _read(self.runner().release(plan), self.ledger.values_folder)
        self.keys.released(plan.key)
        if earlier:
            warn(MADE_BEFORE, BlowfishWarning, stacklevel=2)
        return result

    def quote(self, *plans: Plan) -> Quote:
        """Say what plans would cost together, on which secret pairs, and what they would leave. Nothing is spent."""
        if not all(isinstance(plan, Plan) for plan in plans):
            raise QueryError("a quote is for plans.", hint="session.quote(session.plan(query, epsilon=..)).")
        return self.ledger.quote([plan.certificate.loss for plan in plans], self.policy)

    def card(self, *, title: str | None = None, publisher: str | None = None, folder: str | Path | None = None) -> Card:
        """State for publication what all releases of the session's ledger protect together, and what they do not.

        Earlier releases of the ledger are in it. ``markdown`` and ``page`` of ``blowfish_privacy.statements.card_page``
        write it; files of the releases in the folder, where the page will be, are offered for download.
        """
        # Releasing does without statements.
        from blowfish_privacy.statements.product import make_product_card

        where = None if folder is None else Path(folder)
        return make_product_card(self.ledger, title=title, publisher=publisher, folder=where)

    def runner(self) -> ReleaseRunner:
        """Return what runs plans over this session's data, policy and ledger."""
        return ReleaseRunner(self.policy, lambda: self.engine, self.ledger, self._source)

    def check(self) -> PolicyCheck:
        """Check the data: count the rows that the domain does not cover, and compare them with the stated facts.

        Costs nothing and is no release: the counts are exact, for the custodian and not to publish.
        """
        return check_data(self.engine, self.policy)

    def compare(self, result: Any) -> Comparison:
        """Compare synthetic records with the data: how far the tables of one, two and three attributes are apart.

        Costs nothing and is no release: the distances are exact, for the custodian and not to publish.
        """
        if not isinstance(result, results.SyntheticResult):
            raise QueryError(f"synthetic records are compared with the data, got {brief(result)}.")
        if result.release.policy.domain != self.policy.domain:
            raise PolicyError("the records were made for a different domain.", hint="open a session on their data.")
        return compare(result.positions(), result.domain, lambda sets: self.engine.tables(self.policy.domain, sets))

    def parallel(self, *attributes: str) -> Parallel:
        """Release for each value of attributes that no secret pair changes, at the cost of the costliest group."""
        return Parallel(self, attributes)

    def _check_affordable(self, query: Asked, target: Target, name: str, key: str | None, *, new: bool) -> None:
        """Refuse what will cost too much before anything is read from the data; a retry costs nothing."""
        if target.certain is None:
            return
        measure, amount = target.certain
        # It will lose as much on one of the classes it meets, and may lose less on the others.
        met = classes_met(self.policy, looked_at(query))
        quotes = [self.ledger.quote(Loss.alike((pairs,), amount, measure), self.policy) for pairs in met]
        if any(quote.fits for quote in quotes):
            return
        entries = () if new else self.ledger.entries()
        if key is None and may_be_paid(entries, self.policy, name=name, query=query, amount=target.charged):
            return
        if quotes and not any(entry.key == key for entry in entries) and costs(query, self.policy):
            quotes[0].check()


def _read(text: str, folder: Path | None) -> Any:
    try:
        return results.from_text(text, folder)
    except MemoryError:
        pass
    raise DataError(
        "there is too little memory to read the release, which is recorded in the ledger.",
        hint="free some memory and release it again: the same plan, or the same file, costs nothing more.",
    )
