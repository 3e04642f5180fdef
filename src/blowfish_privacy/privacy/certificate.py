"""What a mechanism can prove about itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

from blowfish_privacy.domain import Box, Cell, Subset, left, narrowed
from blowfish_privacy.errors import BlowfishWarning, RefusalError
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import (
    ALL,
    EVERY,
    PRESENCE,
    Loss,
    PairClass,
    changing,
    one_attribute_at_a_time,
    region_of,
)
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.privacy.sensitivity import Sensitivity
from blowfish_privacy.queries import Selection
from blowfish_privacy.support.exact import rounded_up


@dataclass(frozen=True)
class Certificate:
    """The privacy loss, derived again from the noise scales a mechanism holds and the worst change they must hide."""

    loss: Loss
    """The loss on every class of secret pairs."""
    policy_hash: str
    mechanism: str
    scales: tuple[Fraction, ...]
    """The noise scales, in units of the outputs; one for all outputs where there is one."""
    sensitivity: Sensitivity
    proof: str
    differential_privacy: bool
    """Whether the policy is full domain without known facts, so that this is (bounded) differential privacy."""

    def __repr__(self) -> str:
        return f"<Certificate of {self.mechanism}: {self.statement}>"

    @cached_property
    def amount(self) -> Fraction:
        """The largest loss on any secret pair, in the measure of the loss."""
        return self.loss.largest

    @property
    def epsilon(self) -> Fraction | None:
        """The largest loss, where it is counted in epsilon."""
        return self.amount if self.loss.measure is EPSILON else None

    @property
    def rho(self) -> Fraction | None:
        """The largest loss, where it is counted in rho."""
        return self.amount if self.loss.measure is RHO else None

    @property
    def statement(self) -> str:
        """The guarantee in one line; its amount has four digits, and is never less than what is lost."""
        return (
            self.promise if self.amount else f"{self.promise}: no secret pair that remains possible changes this answer"
        )

    @property
    def promise(self) -> str:
        """The guarantee in a few words, without the reason where nothing is lost."""
        if self.amount == 0:
            return f"0-loss under Blowfish policy {self.policy_hash[:12]}"
        bounded = " (which is bounded differential privacy)" if self.differential_privacy else ""
        if self.loss.measure is RHO:
            bounded = " (which is bounded zero-concentrated differential privacy)" if self.differential_privacy else ""
            return f"(rho {rounded_up(self.amount)}, {self.policy_hash[:12]})-zero-concentrated Blowfish{bounded}"
        return f"({rounded_up(self.amount)}, {self.policy_hash[:12]})-Blowfish{bounded}"


def is_differential_privacy(policy: Policy) -> bool:
    """Say whether a policy asks for (bounded) differential privacy, and nothing less."""
    return not policy.known and (policy.graph.complete or policy.domain.size == 1)


# What a release of some records only loses (docs/proofs/selection.md).
#
# The records that a condition selects are a table of their own, under the same secret graph, or the part of it that
# their values choose. Where a secret pair crosses the border of the condition a record may enter or leave that table,
# so its size is secret; elsewhere its size is public. A mechanism is calibrated under the policy of that table, and
# what it proves there is translated into losses on the secret pairs of the whole.

_MOST_VALUES = 100_000
"""The chains of secret pairs of an attribute with more values are not followed."""


@dataclass(frozen=True, eq=False)
class Population:
    """The records inside a box, in groups by the values of some secret attributes, each released in the same way."""

    whole: Policy
    """The policy of the whole table."""
    box: Box
    groups: tuple[str, ...]
    """The secret attributes whose values tell the groups apart."""
    policy: Policy
    """What governs the records of one group."""

    @property
    def public(self) -> bool:
        """Whether it is public how many records there are."""
        return self.policy.size != "unknown"

    @cached_property
    def borders(self) -> tuple[str, ...]:
        """The attributes along which a secret pair crosses the border of the box."""
        return _borders(self.policy, self.box)

    def certificate(self, inner: Certificate) -> Certificate:
        """Translate what is proved of the selected records, all groups together, into a certificate for the whole."""
        if not self.box and not self.groups:
            return inner
        bounded = is_differential_privacy(self.whole)
        return replace(inner, loss=self.loss(inner.loss), policy_hash=self.whole.hash, differential_privacy=bounded)

    def loss(self, inner: Loss) -> Loss:
        """Translate a loss on the pairs of one group's policy into the loss of all groups on the pairs of the whole.

        A pair of the whole either moves a record inside a group, or lets it enter or leave the box, or takes it from
        one group to another: then one record comes, and one goes.
        """
        presence = inner.on(PRESENCE)
        amounts: dict[PairClass, Fraction] = {}
        for pairs, amount in inner:
            for outer in self._containing(pairs) if pairs != PRESENCE else ():
                amounts[outer] = max(amounts.get(outer, Fraction(0)), amount)
        alone = one_attribute_at_a_time(self.whole)
        for name in dict.fromkeys([*self.groups, *self.borders]):
            pairs = changing(name) if alone else ALL
            crossing = 2 * presence if name in self.groups else presence
            amounts[pairs] = max(amounts.get(pairs, 0 * presence), crossing)
        if self.whole.size == "unknown":
            amounts[PRESENCE] = presence
        return Loss.of({self._inside(pairs): amount for pairs, amount in amounts.items()}, inner.measure)

    def _containing(self, pairs: PairClass) -> tuple[PairClass, ...]:
        """Return the classes of the whole that hold the pairs of one of the selected records' classes."""
        if pairs == EVERY:
            return (pairs,)
        if not one_attribute_at_a_time(self.whole):
            return (ALL,)
        graph = self.whole.graph
        return tuple(changing(name) for name in graph.domain if graph.changes(name)) if pairs == ALL else (pairs,)

    def _inside(self, pairs: PairClass) -> PairClass:
        """Return the pairs of a class that the box may tell apart."""
        if pairs == EVERY:
            return pairs
        reached = {
            name: _reached(self.whole, name, subset) if pairs == ALL or pairs.attribute == name else subset
            for name, subset in self.box.items()
        }
        return replace(pairs, within=region_of(self.whole.domain, reached))


class Populations:
    """The tables that a selection cuts out of a table: one for each value of the public attributes of its groups.

    ``divided`` says that the answer is divided by the number of records. It must be known before the data are read, or
    else be measured as a secret is: so it is taken for public only where no pair changes what records are selected by.
    """

    def __init__(self, policy: Policy, selection: Selection, *, divided: bool = False) -> None:
        self._policy, self._by, self._divided = policy, selection.by, divided
        self._where = selection.box(policy.domain)
        self.open = tuple(name for name in self._by if not policy.graph.changes(name))
        """The public attributes of the groups: no secret pair changes them."""
        self.secret = tuple(name for name in self._by if policy.graph.changes(name))
        self._governed: list[Policy] = []
        self._check_facts(selection.attributes)

    @cached_property
    def whole(self) -> Population:
        """The records of all groups."""
        return self._within(self._where)

    def __iter__(self) -> Iterator[Cell]:
        """Go through the public groups: positions of their attributes."""
        return product(*(left(self._policy.domain, self._where, name) for name in self.open))

    def __getitem__(self, group: Cell) -> Population:
        """Return the table of one public group."""
        if not self.open:
            return self.whole
        box: Box = self._where
        for name, position in zip(self.open, group, strict=True):
            box = narrowed(self._policy.domain, box, name, Subset.of([position]))
        return self._within(box)

    def _within(self, box: Box) -> Population:
        governing = self._governing(box) if box or self._by else self._policy
        return Population(self._policy, box, self._moved(governing), governing)

    def public_part(self, cell: Cell) -> Cell:
        """Return the public group that a group belongs to."""
        return tuple(position for name, position in zip(self._by, cell, strict=True) if name in self.open)

    def _governing(self, box: Box) -> Policy:
        """Return the policy of the records inside a box, the same one for all boxes with the same secrets."""
        whole = self._policy
        if not one_attribute_at_a_time(whole) and crosses(whole):
            # No record of another part moves along with one of this part, and what is known of others does not matter.
            return whole
        secrets = whole.secrets.within(whole.domain, box)
        governing = next((policy for policy in self._governed if policy.secrets == secrets), None)
        if governing is None:
            with warnings.catch_warnings():
                # The user was warned about the policy of the whole table.
                warnings.simplefilter("ignore", BlowfishWarning)
                size = "unknown" if whole.size == "unknown" else "known"
                governing = replace(whole, secrets=secrets, known=(), size=size, compensation="anywhere")
                uncounted = self._divided and any(map(whole.graph.changes, self._where))
                if size == "known" and (uncounted or self._moved(governing) or _borders(governing, self._where)):
                    governing = replace(governing, size="unknown")
            self._governed.append(governing)
        return governing

    def _moved(self, governing: Policy) -> tuple[str, ...]:
        """Return the attributes of groups that pairs of the records governed by a policy change."""
        domain = self._policy.domain
        moved = (name for name in self.secret if self._divided or governing.graph.changes(name))
        return tuple(domain.names[domain.axis(name)] for name in moved)

    def _check_facts(self, names: Sequence[str]) -> None:
        """Refuse to cut a table where known facts tie records of different parts together."""
        if not names or not crosses(self._policy):
            return
        apart = self._policy.compensation == "secret-moves" and all(_inside(self._policy, name) for name in names)
        if not apart or self.secret or _borders(self._policy, self._where):
            raise RefusalError(
                "with these known facts, a change in one part of the table may force a change in another, so there is "
                "no release of a part.",
                hint=f"release the histogram with {', '.join(dict.fromkeys(names))} among its attributes, and select.",
            )


def _inside(policy: Policy, attribute: str) -> bool:
    """Say whether every known fact counts records that share one value of an attribute."""
    boxes = (counted.box for fact in policy.known for counted in fact.counted(policy.domain))
    return all(attribute in box and len(box[attribute]) == 1 for box in boxes)


def _borders(policy: Policy, box: Box) -> tuple[str, ...]:
    """List the attributes along which a secret pair leads out of a box."""
    return tuple(
        name
        for name, subset in box.items()
        if policy.graph.changes(name)
        and policy.graph.joins(name, subset, subset.complement(policy.domain[name].size)) is not None
    )


def _reached(policy: Policy, name: str, subset: Subset) -> Subset:
    """Add the values that chains of secret pairs connect with a set; all values, where these are too many to follow."""
    size = policy.domain[name].size
    if not policy.graph.changes(name):
        return subset
    if size > _MOST_VALUES:
        return Subset.span(0, size)
    graph = policy.graph.project([name])
    met = {graph.component((position,)) for position in subset}
    return Subset.of(position for position in range(size) if graph.component((position,)) in met)
