"""Sensitivities under known facts against exhaustive search, on many random policies.

``python -m blowfish_lab.audit.known_facts --instances 20000`` prints for each method how many results were
checked, how many of them claim to be exact, and fails when one is below the truth or an exact one is not the truth.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import click

from blowfish_privacy.domain import Cell, Domain, Integer
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.graphs import (
    Attributes,
    ByValue,
    DistanceThreshold,
    ExplicitGraph,
    FullDomain,
    Partition,
    PerAttribute,
    Secrets,
    by_value,
    graph,
)
from blowfish_privacy.known_facts import changes
from blowfish_privacy.known_facts import fact_model as classes
from blowfish_privacy.known_facts.fact_model import fact_model
from blowfish_privacy.known_facts.facts import KnownCount, KnownFact, KnownMarginal
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import remembered, sensitivity
from blowfish_privacy.queries import Cumulative, Histogram, Linear, Query, Sum
from blowfish_privacy.queries.query import LinearForm
from blowfish_privacy.support.progress import finished
from blowfish_privacy.testing.oracle import Contribution, largest_changes, move_together

_SHAPES = [(2,), (3,), (4,), (5,), (6,), (2, 2), (2, 3), (3, 2), (2, 2, 2), (1, 4), (4, 2)]
_RECORDS = {2: 5, 3: 5, 4: 5, 5: 4, 6: 4, 8: 3}


@dataclass
class Tally:
    """Counts of results, of exact ones and of refusals by method, and every result that is wrong."""

    results: Counter[str] = field(default_factory=Counter[str])
    exact: Counter[str] = field(default_factory=Counter[str])
    nullities: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])

    def add(self, other: Tally) -> None:
        """Add the counts of another process."""
        self.results += other.results
        self.exact += other.exact
        self.nullities += other.nullities
        self.wrong += other.wrong


@dataclass(frozen=True)
class Instance:
    """A policy with known facts, and how many records the exhaustive search moves."""

    policy: Policy
    records: int
    large: bool
    """Whether the domain is treated as one too large to list its edges."""


def instances(number: int, seed: int) -> Iterator[Instance]:
    """Make random policies with known facts, half of them with a stated number of records."""
    source = random.Random(seed)  # noqa: S311
    made = 0
    while made < number:
        shape = source.choice(_SHAPES)
        domain = Domain({f"a{axis}": Integer(0, size - 1) for axis, size in enumerate(shape)})
        known = random_facts(source, domain)
        records = source.randint(2, _RECORDS[domain.size])
        policy = Policy(
            domain,
            secrets=random_secrets(source, domain),
            known=known,
            compensation=source.choice(["anywhere", "anywhere", "secret-moves"]),
            size=source.choice(["known", records]),
        )
        # Policies that the facts do not cross, or whose classes they settle, are the easy ones: fewer are enough.
        model = fact_model(policy, domain.names)
        settled = any(isinstance(fact, KnownMarginal) and set(fact.attributes) == set(domain.names) for fact in known)
        if source.random() < (0.1 if settled or not model.crossed else 0.4 if model.incidence.nullity == 0 else 1):
            made += 1
            yield Instance(policy, records, large=made % 3 == 0)


def check(instance: Instance, tally: Tally) -> None:
    """Compare the sensitivity of several queries with the truth."""
    policy, domain = instance.policy, instance.policy.domain
    queries = _queries(domain)
    forms = [query.on(domain) for query in queries]
    true = largest_changes(policy, instance.records, [_contribution(form, domain) for form in forms])
    tally.nullities[f"nullity {fact_model(policy, domain.names).incidence.nullity}"] += 1
    for query, truth in zip(queries, true, strict=True):
        try:
            with _as_if_large() if instance.large else nullcontext():
                derived = sensitivity(query, policy)
        except RefusalError:
            tally.results["refused"] += 1
            continue
        method = f"{derived.theorem}{', edges not listed' if instance.large else ''}"
        tally.results[method] += 1
        tally.exact[method] += derived.exact
        at_limit = policy.size == instance.records
        if derived.value < truth or (derived.exact and at_limit and derived.value > truth):
            tally.wrong.append(f"{query} {policy}: {derived} but the truth is {truth} with {instance.records} records")
        if derived.exact and derived.witness is not None:
            if _witnessed(query, domain, derived.witness) != derived.value:
                tally.wrong.append(f"{query} {policy}: the witness of {derived} does not attain it")
            if not _neighbours(policy, derived.witness):
                tally.wrong.append(f"{query} {policy}: the witness of {derived} is no pair of neighbours")


@contextmanager
def _as_if_large() -> Generator[None]:
    """Let geometry decide, as on a domain too large to go through."""
    limits = {
        (classes, "_MOST_PAIRS"): -1,
        (changes, "_FEW_OUTPUTS"): 0,
        (graph, "MOST_LISTED"): -1,
        (by_value, "MOST_LISTED"): -1,
    }
    before = {(module, name): getattr(module, name) for module, name in limits}
    for (module, name), value in limits.items():
        setattr(module, name, value)
    _forget()
    try:
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)
        _forget()


def _forget() -> None:
    fact_model.cache_clear()
    remembered.cache_clear()


def _witnessed(query: Query, domain: Domain, witness: Sequence[Sequence[dict[str, Any]]]) -> Fraction:
    form = query.on(domain)
    outputs = [0] * form.outputs
    for sign, records in ((-1, witness[0]), (1, witness[1])):
        for record in records:
            cell = form.domain.cell({name: record[name] for name in form.domain.names})
            outputs = [a + sign * b for a, b in zip(outputs, form.column(cell), strict=True)]
    return form.unit * sum(map(abs, outputs))


def _neighbours(policy: Policy, witness: Sequence[Sequence[dict[str, Any]]]) -> bool:
    """Check a witness by the definition, on the attributes it names; long ones would take too long."""
    if len(witness[0]) > 12:
        return True
    names = tuple(witness[0][0])
    domain = policy.domain.project(names)
    known = [fact for fact in policy.known if set(fact.attributes) <= set(names)]
    if len(known) < len(policy.known) or policy.graph.domain != domain:
        return True
    before, after = ([domain.cell(record) for record in side] for side in witness)
    return move_together(policy, [*zip(before, after, strict=True)])


def _contribution(form: LinearForm, domain: Domain) -> Contribution:
    axes = [domain.axis(name) for name in form.domain.names]

    def contribution(cell: Cell) -> list[Fraction]:
        return [form.unit * number for number in form.column(tuple(cell[axis] for axis in axes))]

    return contribution


def _queries(domain: Domain) -> list[Query]:
    last = domain.names[-1]
    weights = [[(3 * cell + 5 * row * row) % 7 - 2 for cell in range(domain.size)] for row in range(2)]
    queries: list[Query] = [Histogram(*domain.names), Sum(last), Cumulative(last), Linear(weights, domain.names)]
    return [*queries, Histogram(domain.names[0])] if len(domain.names) > 1 else queries


def random_facts(source: random.Random, domain: Domain) -> list[KnownFact]:
    """Make one to four facts without stated counts."""
    facts: list[KnownFact] = []
    for _ in range(source.randint(1, 4)):
        names = source.sample(domain.names, source.randint(1, len(domain.names)))
        if source.random() < 0.3:
            facts.append(KnownMarginal(*names))
        else:
            facts.append(KnownCount({name: _some(source, domain[name].size) for name in names}))
    return facts


def _some(source: random.Random, size: int) -> list[int]:
    return sorted(source.sample(range(size), source.randint(1, size)))


def random_secrets(source: random.Random, domain: Domain) -> Secrets:
    """Choose secrets of any kind."""
    kind = source.randrange(7 if len(domain.names) > 1 else 6)
    if kind == 0:
        return FullDomain()
    if kind == 1:
        return Attributes()
    if kind == 2:
        return DistanceThreshold(source.choice([1, 1, 2, 3]))
    if kind == 3:
        labels = {name: [source.randint(0, 1) for _ in range(domain[name].size)] for name in domain}
        cut = {
            name: [block for side in (0, 1) if (block := [p for p, label in enumerate(sides) if label == side])]
            for name, sides in labels.items()
        }
        return Partition(blocks=cut)
    if kind == 4:
        return PerAttribute({name: source.choice([FullDomain(), DistanceThreshold(1)]) for name in domain})
    if kind == 6:
        column = source.choice(domain.names)
        others = domain.project([name for name in domain if name != column])
        return ByValue(column, {value: random_secrets(source, others) for value in range(domain[column].size)})
    cells = [*domain.cells()]
    pairs = [source.sample(cells, 2) for _ in range(source.randint(1, 4))] if len(cells) > 1 else []
    return ExplicitGraph([(domain.record(x), domain.record(y)) for x, y in pairs])


def report(tally: Tally) -> str:
    """Write the share of exact results by method."""
    lines = [f"{count:8,} instances of {name}" for name, count in sorted(tally.nullities.items())]
    for method, count in tally.results.most_common():
        share = f"{100 * tally.exact[method] / count:5.1f} % exact" if method != "refused" else "             "
        lines.append(f"{count:8,} results  {share}  {method}")
    lines.append(f"{len(tally.wrong):8,} wrong")
    return "\n".join(lines)


def check_many(number: int, seed: int) -> Tally:
    """Check several random policies."""
    warnings.simplefilter("ignore")
    tally = Tally()
    for instance in instances(number, seed):
        check(instance, tally)
    return tally


@click.command()
@click.option("--instances", "number", default=6_000, show_default=True, help="How many random policies.")
@click.option("--seed", default=1, show_default=True)
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
def main(number: int, seed: int, workers: int) -> None:
    """Check sensitivities under known facts against exhaustive search."""
    starts = range(0, number, _AT_ONCE)
    tasks = [(min(_AT_ONCE, number - start), seed + start) for start in starts]
    tally = Tally()
    with (
        closing(finished(check_many, tasks, workers)) as results,
        click.progressbar(length=number, label="Policies", file=sys.stderr) as bar,
    ):
        for (many, _), part in results:
            tally.add(part)
            bar.update(many)
    click.echo(report(tally))
    for wrong in tally.wrong[:10]:
        click.echo(wrong)
    sys.exit(bool(tally.wrong))


_AT_ONCE = 100

if __name__ == "__main__":
    main()
