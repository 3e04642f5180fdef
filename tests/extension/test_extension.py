"""A secret graph, a query, a mechanism with a result of its own and an engine, defined here and nowhere else.

They are planned, released, saved, loaded, verified, explained and put on a card by a package that never heard of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.aggregates import RecordAggregates
from blowfish_privacy.errors import PolicyError, SpecError
from blowfish_privacy.graphs.graph import Rule, SecretGraph, Secrets, Words
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.error import ExpectedError
from blowfish_privacy.noise import discrete_laplace
from blowfish_privacy.privacy.loss import loss_seen
from blowfish_privacy.privacy.sensitivity import sensitivity_of
from blowfish_privacy.queries.query import LinearForm, Query
from blowfish_privacy.release import spec, verification
from blowfish_privacy.results import Result, load
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown
from blowfish_privacy.support.exact import exact
from blowfish_privacy.support.file_forms import Bare
from blowfish_privacy.testing.oracle import hops_by_search
from registries import forgotten


@pytest.fixture(scope="module")
def extension():
    with forgotten():
        yield define()


def define():
    """Define a kind of everything."""

    @dataclass(frozen=True)
    class Parity(Secrets):
        """Nobody may tell apart two values of the same parity."""

        keyword = "parity"
        file_form = Bare("parity")

        def on(self, domain):
            return ParityGraph(domain)

        def to_file(self):
            return "parity"

        @classmethod
        def from_file(cls, body, domain):
            if body != "parity":
                raise SpecError("parity takes no options.")
            return cls()

    @dataclass(frozen=True)
    class ParityGraph(SecretGraph):
        domain: bp.Domain

        def adjacent(self, x, y):
            return x != y and self.component(x) == self.component(y)

        def component(self, x):
            return sum(x) % 2

        def hops(self, x, y):
            return 0 if x == y else 1 if self.adjacent(x, y) else inf

        @property
        def connected(self):
            return self.domain.size == 1

        def project(self, names):
            return self if list(names) == list(self.domain.names) else bp.FullDomain().on(self.domain.project(names))

        def widest_edge(self, name):
            edges = [edge for edge in self.edges() if edge[0] != edge[1]]
            axis = self.domain.axis(name)
            moving = [edge for edge in edges if edge[0][axis] != edge[1][axis]]
            return max(moving, key=lambda edge: abs(edge[0][axis] - edge[1][axis]), default=None)

        def joins(self, name, first, second):
            pairs = ((a, b) for a in first for b in second if a != b and (a - b) % 2 == 0)
            return next(pairs, None)

        def _canonical(self):
            return "parity"

        def _words(self):
            return Words((Rule("Two values of one parity are a secret pair"),), ("Parity is not protected at all.",))

    @dataclass(frozen=True)
    class Evens(Query):
        """How many records have an even position, and the sum of all positions."""

        attributes: tuple[str, ...]

        keyword = "evens"
        result = "evens"
        answer = "evens"

        def on(self, domain):
            return EvensForm(self.own_domain(domain))

        def to_file(self, domain):
            return {"evens": list(self.attributes)}

        @classmethod
        def from_file(cls, entry):
            return cls(tuple(entry["evens"]))

    class EvensForm(LinearForm):
        outputs = 2

        def __init__(self, domain):
            self.domain = domain

        def column(self, x):
            return [int(x[0] % 2 == 0), x[0]]

        def worst_edge(self, graph):
            return max(graph.edges(), key=lambda edge: self.change(*edge), default=None), True

        def heaviest(self):
            return (self.domain.size - 1,)

        def answer(self, counts):
            return self.as_matrix() @ counts.reshape(-1)

    @dataclass(frozen=True, eq=False)
    class Plain(Mechanism):
        """Adds discrete Laplace noise to both numbers.

        Privacy: (epsilon, P)-Blowfish, epsilon = S / scale.
        Sensitivity: the worst secret pair.
        Error: that of the noise.
        Cost: none to speak of.
        Numerics: whole numbers.
        Proof: docs/proofs/laplace.md
        """

        form: LinearForm
        scale: Fraction

        name = "plain"
        proof = "docs/proofs/laplace.md"
        gives = ("evens",)

        @classmethod
        def calibrated(cls, query, policy, *, epsilon, records):
            form = query.on(policy.domain)
            return cls(form, sensitivity_of(form, policy).value / epsilon)

        def certify(self, policy):
            worst = sensitivity_of(self.form, policy)
            if worst.value and not self.scale:
                raise PolicyError("no noise.")
            amount = worst.value / self.scale if worst.value else Fraction(0)
            return self.certified(policy, loss_seen(policy, self.form.domain.names, amount), worst, self.scale)

        rows = 2

        def loss(self, x, y):
            return self.form.change(x, y) / self.scale

        def measure(self, counts, source):
            return self.form.answer(counts) + discrete_laplace(self.scale, 2, source=source)

        def expected_error(self):
            return ExpectedError(self.scale, Fraction(1), "a number")

        def words(self):
            return "Both numbers get noise."

        def to_document(self):
            return {"name": self.name, "scale": str(self.scale)}

        @classmethod
        def from_document(cls, query, policy, written, records):
            return cls(query.on(policy.domain), exact(written["scale"], "the scale", error=SpecError))

    class EvensResult(Result):
        kind = "evens"

        @property
        def evens(self):
            return self.values[0].item()

        @property
        def header(self):
            return ["what", "value"]

        def rows(self):
            yield ["even", self.evens]

        def draw(self, axes):
            axes.bar([0], [self.evens])

    class Listed:
        """An engine over a list of whole numbers."""

        reads = 0

        def __init__(self, numbers):
            self._numbers = numbers

        def counts(self, domain, sets, *, progress=None):
            return [*self.tables(domain, sets)]

        def tables(self, domain, sets, *, progress=None):
            return self._records(domain).tables(sets)

        def lattice_sums(self, domain, names, lattice, *, progress=None):
            return self._records(domain).lattice_sums(lattice)

        def _records(self, domain):
            (name,) = domain.names
            self.reads += 1
            return RecordAggregates(domain, [domain[name].encode(np.array(self._numbers))])

        def assignments(self, domain, names, assignment, *, progress=None):
            raise NotImplementedError

        def prepare(self, domain, names):
            pass

        def rows(self):
            return len(self._numbers)

        def check(self, domain):
            raise NotImplementedError

        def close(self):
            pass

    return Parity, Evens, Listed, EvensResult


DOMAIN = bp.Domain(v=bp.Integer(0, 9))
NUMBERS = [0, 2, 2, 4, 5, 7, 9] * 30


@pytest.fixture
def policy(extension):
    return bp.Policy(DOMAIN, secrets=extension[0]())


def test_the_graph_answers_what_it_never_heard_of(policy):
    graph = policy.graph
    edges = [*graph.edges()]
    assert graph.longest_move([3]) == 3 * max(y[0] - x[0] for x, y in edges) == 24
    (stretch,) = graph.stretches("v")
    assert (stretch.start, stretch.width, stretch.reach) == (0, 10, 8)
    for x in DOMAIN.cells():
        assert {y: graph.hops(x, y) for y in DOMAIN.cells()} == hops_by_search(graph, x)
    # Other queries, known facts and prices between policies work with the general rules.
    for query in (bp.Histogram("v"), bp.Cumulative("v"), bp.Sum("v"), bp.KMeans(["v"], 2)):
        bp.Session(bp.Counts(np.full(10, 20)), policy, budget=2).release(query, epsilon=1)
    facts = bp.Policy(DOMAIN, secrets=policy.secrets, known=[bp.KnownCount(where={"v": (0, 3)})])
    assert bp.sensitivity(bp.Histogram("v"), facts).value == 4
    session = bp.Session(bp.Counts(np.full(10, 20)), policy, budget=9)
    session.release(bp.Histogram("v"), epsilon=1)
    assert session.ledger.price(bp.Policy(DOMAIN, secrets=bp.DistanceThreshold(4))).factor == 2


def test_from_plan_to_card(extension, policy, tmp_path):
    _, evens, listed, shown = extension
    session = bp.Session(listed(NUMBERS), policy, budget=2, ledger=tmp_path / "l", create=True)
    plan = session.plan(evens(("v",)), epsilon="0.5")
    assert plan.certificate.mechanism == "plain"
    assert plan.epsilon == Fraction(1, 2)
    assert "evens of v (2 numbers)" in plan.explain()
    result = session.release(plan)
    assert isinstance(result, shown)
    assert abs(result.evens - 120) < 1000
    result.save(tmp_path / "e.release.json")
    result.to_csv(tmp_path / "e.csv")
    result.plot(tmp_path / "e.png")
    again = load(tmp_path / "e.release.json")
    assert isinstance(again, shown)
    assert again.evens == result.evens
    assert verification.problems(result.text) == []
    assert "parity" in policy.explain()
    page = markdown(make_card(result.text))
    assert "The evens of" in page
    assert "Two values of one parity are a secret pair" in page
    assert session.ledger.verify().ok


def test_in_a_file(extension):
    text = (
        "version: 1\n"
        "policy: {domain: {v: {integer: [0, 9]}}, secrets: parity}\n"
        "releases: [{name: e, evens: [v], epsilon: 0.5}]\n"
    )
    loaded = spec.loads(text)
    assert type(loaded.policy.secrets) is extension[0]
    assert type(loaded.releases[0].query) is extension[1]
    assert spec.loads(spec.dumps(loaded.policy)).policy.hash == loaded.policy.hash
