"""A policy: what is secret about a person, and what everybody already knows about the data."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import islice
from math import inf, prod
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Cell, Domain
from blowfish_privacy.errors import BlowfishWarning, DomainError, PolicyError, RefusalError, brief, brief_kind
from blowfish_privacy.graphs.graph import Edge, Hops, SecretGraph, Secrets, Words
from blowfish_privacy.known_facts.facts import Compensation, KnownCount, KnownFact, KnownMarginal, check_facts
from blowfish_privacy.support.limits import RECORDS

_MOST_LOOKED_AT = 10_000


def check_options(policy: Policy) -> None:
    """Refuse options that mean nothing, or nothing together."""
    if not isinstance(policy.compensation, str) or policy.compensation not in ("anywhere", "secret-moves"):
        raise PolicyError(f"compensation must be 'anywhere' or 'secret-moves', got {brief(policy.compensation)}.")
    if not (isinstance(policy.size, str) and policy.size in ("known", "unknown")) and not _natural(policy.size, 0):
        raise PolicyError(f"size must be 'known', 'unknown' or a number up to 2^53, got {brief(policy.size)}.")
    if policy.secrets.size not in (None, policy.size):
        raise PolicyError(
            f"{policy.secrets.keyword} keeps the number of records secret, so size cannot be {brief(policy.size)}.",
            hint="leave out size; with a public number of records, full is (bounded) differential privacy.",
        )
    if not _natural(policy.rows_per_person, 1):
        raise PolicyError(f"rows_per_person must be from 1 to 2^53, got {brief(policy.rows_per_person)}.")
    if policy.known and policy.size == "unknown":
        raise PolicyError(
            "known facts need a public number of records.",
            hint="leave out size: unknown, or the known facts.",
        )
    if policy.known and policy.rows_per_person > 1:
        raise PolicyError(
            "known facts are calibrated for one row per person only.",
            hint="aggregate to one row per person, or leave out the known facts.",
        )


def _natural(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= RECORDS


Size: TypeAlias = Literal["known", "unknown"] | int


@dataclass(frozen=True)
class Policy:
    """Which facts about a person are secret and which facts about the data are public.

    ``compensation`` says how other records may move when a known count must stay true: ``anywhere`` (the default) or
    only along secret pairs (``secret-moves``, weaker). ``size`` says whether the number of records is public
    (``known``, which is the default, or the number itself) or secret (``unknown``, which :class:`AddRemove` implies).
    ``rows_per_person`` is the most rows a person has.
    """

    domain: Domain
    _: KW_ONLY
    secrets: Secrets
    known: Sequence[KnownFact] = ()
    compensation: Compensation = "anywhere"
    size: Size | None = None
    rows_per_person: int = 1
    graph: SecretGraph = field(init=False, repr=False, compare=False)
    """The secret graph on the domain."""
    records: int | None = field(init=False, repr=False, compare=False)
    """The number of records, if the policy states it or it follows from the known facts."""

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise PolicyError(f"a policy needs a Domain, got {type(self.domain).__name__}.")
        if not isinstance(self.secrets, Secrets):
            raise PolicyError(
                f"secrets must be a graph, got {brief(self.secrets)}.", hint="secrets=FullDomain(), for example."
            )
        if isinstance(self.known, str) or not isinstance(self.known, Sequence):
            raise PolicyError(f"known must be a list of facts, got {brief(self.known)}.")
        object.__setattr__(self, "known", tuple(self.known))
        for fact in self.known:
            if not isinstance(fact, KnownCount | KnownMarginal):
                raise PolicyError(f"a known fact must be a KnownCount or a KnownMarginal, got {brief_kind(fact)}.")
        if self.size is None:
            object.__setattr__(self, "size", self.secrets.size or "known")
        for name in ("size", "rows_per_person"):
            value: object = getattr(self, name)
            if isinstance(value, Integral) and not isinstance(value, bool):
                object.__setattr__(self, name, int(value))
        check_options(self)
        object.__setattr__(self, "graph", self.secrets.on(self.domain))
        stated = self.size if isinstance(self.size, int) else None
        records = check_facts(self.domain, self.known, stated) if self.known else stated
        object.__setattr__(self, "records", records)
        if not self.graph.has_edges and self.size != "unknown":
            warnings.warn(
                "the policy has no secret pairs: nothing is protected, and releases will be exact.",
                BlowfishWarning,
                stacklevel=3,
            )

    def distance(self, first: Mapping[str, object], second: Mapping[str, object]) -> Hops:
        """Count the steps between two values, d_G; ``math.inf`` if nothing protects one from the other.

        Attributes that are not named are equal. With an unknown number of records any value is at most two steps from
        any other: one record is removed and another is added. A release with privacy loss epsilon changes the odds
        between the two by at most exp(epsilon d_G). With known facts a secret pair that they leave possible is one
        step, further steps are counted only where it is proved that they add up (docs/proofs/odds.md), and a value
        that nobody can have is not protected from any other.
        """
        return self.apart(*cells(self, first, second))

    @cached_property
    def ends(self) -> tuple[tuple[Domain, Cell, Cell, Hops], ...]:
        """Two values many steps apart for each attribute, or for all together if pairs depend on every attribute."""
        if not self.graph.homogeneous:
            pair = self.graph.furthest()
            return ((self.domain, *_ends(self, 0, self.graph, pair, _apart(self, 0, *pair))),)
        ends: list[tuple[Domain, Cell, Cell, Hops]] = []
        for axis, name in enumerate(self.domain):
            projected = self.graph.project([name])
            pair = projected.furthest()
            hops = _apart(self, axis, *pair)
            if hops == inf and (wide := projected.widest_edge(name)):
                # No chain of steps leads from end to end.
                pair, hops = wide, _apart(self, axis, *wide)
            ends.append((projected.domain, *_ends(self, axis, projected, pair, hops)))
        return tuple(ends)

    def apart(self, x: Cell, y: Cell) -> Hops:
        """Count the steps between two cells."""
        if self.known:
            from blowfish_privacy.known_facts.fact_model import steps

            return steps(self, x, y)
        hops = self.graph.hops(x, y)
        return min(hops, 2) if self.size == "unknown" else hops

    @property
    def connected(self) -> bool:
        """Whether every two possible values are some number of steps apart, so that no pair is unprotected."""
        return self.size == "unknown" or (self.graph.connected and self.steps_add_up)

    @property
    def steps_add_up(self) -> bool:
        """Whether the promise holds once for every step, between all possible values.

        It does without known facts, and with them if there is a proof (docs/proofs/odds.md).
        """
        if not self.known:
            return True
        from blowfish_privacy.known_facts.fact_model import steps_add_up

        return steps_add_up(self)

    def words(self, names: Sequence[str] | None = None) -> Words:
        """Return sentences about what is protected and what is not; of some attributes alone, if they are named."""
        words = (self.graph if names is None else self.graph.project(names)).words()
        if self.known:
            # The known facts may disclose a secret pair, which would make it a bad example.
            return words.without_examples
        if self.size != "unknown":
            return words
        present = "Whether a person is in the table at all is secret, so any two values are at most two steps apart."
        # That steps add up over attributes is left out: no two values are more than these two steps apart.
        return Words(words.protected, added=(present,))

    def explain(self) -> str:
        """Explain in plain words what is protected, how strongly, what is not, and what is assumed to be public."""
        from blowfish_privacy.policies.explain import explain_policy

        return explain_policy(self)

    def canonical(self) -> dict[str, Any]:
        """Return a form in plain JSON values that is the same for all equivalent ways to write this policy."""
        declared = zip(self.domain.names, self.domain.attributes, strict=True)
        form: dict[str, Any] = {
            "version": 1,
            "domain": {name: attribute.canonical() for name, attribute in sorted(declared, key=lambda item: item[0])},
            "secrets": self.graph.canonical(),
            "size": self.size,
            "rows_per_person": self.rows_per_person,
        }
        if self.known:
            facts = {json.dumps(fact.canonical(self.domain), sort_keys=True) for fact in self.known}
            form |= {"known": [json.loads(fact) for fact in sorted(facts)], "compensation": self.compensation}
        return form

    @cached_property
    def section(self) -> dict[str, Any]:
        """The policy as it stands in a policy file; not to be changed."""
        domain = zip(self.domain.names, self.domain.attributes, strict=True)
        written: dict[str, Any] = {
            "domain": {name: attribute.to_file() for name, attribute in domain},
            "secrets": self.secrets.to_file(),
        }
        if self.known:
            written["known"] = [fact.to_file(self.domain) for fact in self.known]
        size = self.secrets.size or "known"
        for name, default in (("compensation", "anywhere"), ("size", size), ("rows_per_person", 1)):
            if getattr(self, name) != default:
                written[name] = getattr(self, name)
        return written

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the canonical form: policies with equal hashes promise the same."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def cells(policy: Policy, first: Mapping[str, object], second: Mapping[str, object]) -> tuple[Cell, Cell]:
    """Turn two records into cells; both may omit the same attributes."""
    for record in (first, second):
        if not isinstance(record, Mapping) or not record:
            raise DomainError(f"a value must name at least one attribute, got {brief(record)}.", hint='{"age": 30}.')
    one_sided = set(first) ^ set(second)
    if one_sided:
        raise DomainError(f"only one of the two records names {', '.join(sorted(map(str, one_sided)))}.")
    omitted = [name for name in policy.domain if name not in first]
    if omitted and not policy.graph.homogeneous:
        raise DomainError(f"the secret pairs of this policy depend on every attribute: name {', '.join(omitted)} too.")
    rest = {name: policy.domain[name].value(0) for name in omitted}
    return policy.domain.cell({**rest, **first}), policy.domain.cell({**rest, **second})


def _ends(policy: Policy, axis: int, graph: SecretGraph, pair: Edge, hops: Hops) -> tuple[Cell, Cell, Hops]:
    """Return these two values, or others that are two steps apart because one person leaves and another comes."""
    if policy.size == "unknown" and hops < 2 and not graph.complete:
        others = ((x, y) for x in pair for y in islice(graph.domain.cells(), _MOST_LOOKED_AT))
        pair = next(((x, y) for x, y in others if x != y and not graph.adjacent(x, y)), pair)
        hops = _apart(policy, axis, *pair)
    return (*pair, hops)


def _apart(policy: Policy, axis: int, first: Cell, last: Cell) -> Hops:
    """Count the steps between values of consecutive attributes, starting at ``axis``; the others are equal."""
    zeros = (0,) * len(policy.domain.names)
    x, y = ((*zeros[:axis], *positions, *zeros[axis + len(positions) :]) for positions in (first, last))
    return policy.apart(x, y)


# Whether the data agree with the counts that a policy states as known.

Counter: TypeAlias = Callable[[tuple[str, ...]], npt.NDArray[np.int64]]
"""Counts the records in every cell of some attributes."""

_MOST_CELLS = 10_000_000


def contradicted(policy: Policy, count: Counter, sound: Container[str] | None = None) -> Iterator[KnownFact]:
    """Yield the facts whose stated counts disagree with the data; if given, only facts about ``sound`` attributes."""
    stated = [fact for fact in stated_facts(policy) if sound is None or all(name in sound for name in fact.attributes)]
    names = tuple(name for name in policy.domain.names if any(name in fact.attributes for fact in stated))
    together = prod(policy.domain[name].size for name in names) <= _MOST_CELLS
    all_counts = count(names) if names and together else None
    for fact in stated:
        attributes, counts = names, all_counts
        if counts is None:
            attributes = tuple(name for name in policy.domain if name in fact.attributes)
            if prod(policy.domain[name].size for name in attributes) > _MOST_CELLS:
                raise RefusalError(
                    f"{fact.words(policy.domain)}: too many combinations of values to check against the data.",
                    hint="leave out the stated count; what is known matters more than how many.",
                )
            counts = count(attributes)
        if not _agrees(policy.domain, fact, attributes, counts):
            yield fact


def stated_facts(policy: Policy) -> list[KnownFact]:
    """Return the facts whose counts are stated; the data must have columns for their attributes."""
    return [
        fact
        for fact in policy.known
        if (fact.counts(policy.domain) if isinstance(fact, KnownMarginal) else fact.count) is not None
    ]


def _agrees(domain: Domain, fact: KnownFact, names: tuple[str, ...], counts: npt.NDArray[np.int64]) -> bool:
    axes = tuple(axis for axis, name in enumerate(names) if name not in fact.attributes)
    margin = counts.sum(axis=axes)
    left = [name for name in names if name in fact.attributes]
    if isinstance(fact, KnownMarginal):
        return bool((fact.summed(domain, left) == margin).all())
    box = fact.box(domain)
    chosen = [[*box[name]] if name in box else [*range(domain[name].size)] for name in left]
    return int(margin[np.ix_(*chosen)].sum()) == fact.count
