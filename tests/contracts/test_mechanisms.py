"""What every mechanism promises; a new one is found by itself."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from importlib import import_module
from inspect import isabstract
from itertools import combinations, count
from math import exp, log
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
import blowfish_privacy.mechanisms
from blowfish_privacy.mechanisms import MECHANISMS
from blowfish_privacy.mechanisms.mechanism import Mechanism
from blowfish_privacy.mechanisms.synthetic.rounds import Look
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.privacy.measure import EPSILON, RHO
from blowfish_privacy.queries import Cumulative, Histogram, Mean, Query, Sum
from blowfish_privacy.testing.oracle import ABSENT, moves_together, neighbours
from blowfish_privacy.testing.seeded import SeededSource
from blowfish_privacy.testing.strategies import policies
from effort import examples
from pair_classes import class_of

ROOT = Path(__file__).parents[2]
EVERY = pytest.mark.parametrize("kind", MECHANISMS.values(), ids=lambda kind: kind.name)
SELDOM = ("weighted-offsets",)
"""Few random policies have numbers to weight records with: tests/contracts/test_sensitivities.py makes some that do."""
OFTEN = [kind for kind in MECHANISMS.values() if kind.name not in SELDOM]
INDEPENDENT = pytest.mark.parametrize(
    "kind", [kind for kind in OFTEN if kind.independent_rows], ids=lambda kind: kind.name
)
"""Flows and what is measured in two steps are checked in tests/unit/mechanisms: test_grid.py, test_soft_grid.py."""
NOISY = [
    f"{found.name}.{sampler}"
    for found in walk_packages(blowfish_privacy.mechanisms.__path__, "blowfish_privacy.mechanisms.")
    for sampler in ("discrete_laplace", "discrete_gaussian")
    if hasattr(import_module(found.name), sampler)
]
"""The names under which modules draw noise."""
FLOWS = ("grid-flow", "gaussian-flow")
IN_ROUNDS = ("synthetic", "synthetic-laplace")
"""They hold what may be lost; their scales follow from noisy numbers: tests/contracts/test_synthetic_losses.py."""
SIZES = ("known", "unknown")
EPSILONS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(5, 2)])


def query_for(kind, domain):
    """A query that the mechanism answers, on the first attributes that suit it."""
    grids = [bp.RangeGrid(a, b) for a in domain.names for b in domain.names if a != b]
    clusters = [bp.KMeans([name for name in domain.names if domain[name].ordered] or ["none"], k=1)]
    # Ranges of what is ordered, on every other domain.
    ranges = {name for name in domain.names if domain[name].ordered and domain.size % 2 == 0 and domain.size < 1000}
    marked = [{"attribute": name, "as": "ranges"} if name in ranges else name for name in domain.names]
    tables = [bp.Tables([marked[:1], *combinations(marked, 2)])]
    plain = (q(name) for q in (Histogram, Cumulative, Sum, Mean) for name in domain.names)
    synthetic = [bp.Synthetic(domain.names)] if len(domain.names) > 1 else []
    weighted = [Mean(a).weighted(b) for a in domain.names for b in domain.names if a != b]
    for query in (*plain, *grids, *clusters, *tables, *synthetic, *weighted):
        try:
            query.on(domain)
        except bp.QueryError:
            continue
        if kind.answers(query):
            return query
    return None


def losing(kind, amount, query, policy, records):
    """Calibrate for an amount of what the mechanism's losses are counted in."""
    return kind.calibrated(query, policy, **{kind.counted_in.name: amount}, records=records)


def calibrated(kind, query, policy, epsilon, records):
    """Calibrate; None where the mechanism is for a public number of records only, or for a secret one only."""
    try:
        return losing(kind, epsilon, query, policy, None if policy.size == "unknown" else records)
    except bp.RefusalError as refused:
        said = "public number of records" if policy.size == "unknown" else "the number of records is public"
        assert said in str(refused), refused
        return None


def sized(secrets=None, width=41):
    """List mechanisms, each with a policy for every size under which it works, on two attributes."""
    listed = []
    domain = bp.Domain(v=bp.Integer(0, width - 1), w=bp.Integer(0, width - 1))
    for kind in MECHANISMS.values():
        for size in SIZES:
            policy = bp.Policy(domain, secrets=secrets or bp.DistanceThreshold(5), size=size)
            if calibrated(kind, query_for(kind, domain), policy, Fraction(1), 1681) is not None:
                listed.append(pytest.param(kind, policy, id=f"{kind.name} {size}"))
    return listed


def test_every_query_has_a_mechanism_where_the_number_of_records_is_secret():
    secret = {kind for parameter in sized() for kind, policy in [parameter.values] if policy.size == "unknown"}
    assert {answer for kind in secret for answer in kind.gives} == {query.answer for query in Query.kinds.values()}


def all_kinds(kind=Mechanism):
    return {kind, *(below for child in kind.__subclasses__() for below in all_kinds(child))}


def test_every_mechanism_is_listed():
    # What other tests define lives on until it is collected.
    ours = {kind for kind in all_kinds() if kind.__module__.startswith("blowfish_privacy.")}
    # Without a name, a class is what several mechanisms have in common.
    assert {kind for kind in ours if not isabstract(kind) and hasattr(kind, "name")} == set(MECHANISMS.values())


@EVERY
def test_the_docstring_has_its_lines_and_the_proof_exists(kind):
    for line in ("Privacy:", "Sensitivity:", "Error:", "Cost:", "Numerics:", "Proof:"):
        assert re.search(rf"^ *{line} \S", kind.__doc__, re.MULTILINE), f"{kind.__name__} lacks {line}"
    assert (ROOT / kind.proof).exists()
    assert kind.proof in kind.__doc__


@pytest.mark.parametrize("kind", OFTEN, ids=lambda kind: kind.name)
@given(policy=policies(most_cells=12, most_attributes=2, sizes=SIZES), epsilon=EPSILONS)
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_calibrated_certifies_exactly_what_was_asked(kind, policy, epsilon):
    query = query_for(kind, policy.domain)
    assume(query is not None)
    assume(kind.name not in (*FLOWS, "soft-mesh") or policy.graph.project(query.attributes).has_edges)
    mechanism = calibrated(kind, query, policy, epsilon, 5)
    assume(mechanism is not None)
    found = mechanism.certify(policy)
    assert found.amount == (epsilon if found.sensitivity.value else 0)
    assert found.policy_hash == policy.hash


def exact_rows(mechanism, policy, query):
    """A function from tables to their exact rows, read off the mechanism itself with its noise taken away."""
    axes = [policy.domain.axis(name) for name in query.attributes]
    shape = policy.domain.project(query.attributes).shape

    @cache
    def measured(table):
        counts = np.zeros(shape, dtype=np.int64)
        for cell in (cell for cell in table if cell != ABSENT):
            counts[tuple(cell[axis] for axis in axes)] += 1
        return [int(row) for row in mechanism.measure(counts, NoNoise())]

    # In whichever order records stand, and in as many pairs of neighbours: a table is measured once.
    return lambda table: measured(tuple(sorted(table)))


class NoNoise:
    """Bits under which every draw is zero: then `measure` shows the exact rows."""

    kind = "none"
    private = False

    def words(self, count):
        raise AssertionError("replaced by the fixture below")


def zeros(scale, size, source=None):
    return np.zeros(size, dtype=np.int64)


@pytest.fixture
def silent(monkeypatch):
    for sampler in NOISY:
        monkeypatch.setattr(sampler, zeros)


def measured_with(noise, mechanism, counts):
    """What is measured when the noise comes from this function."""
    with pytest.MonkeyPatch.context() as patch:
        for sampler in NOISY:
            patch.setattr(sampler, noise)
        return mechanism.measure(counts, SeededSource(1) if mechanism.name in IN_ROUNDS else NoNoise())


def drawn_with(mechanism, counts):
    """The scale and the size of every draw of noise, in their order."""
    drawn = []

    def note(scale, size, source=None):
        drawn.append((scale, size))
        return zeros(scale, size)

    measured_with(note, mechanism, counts)
    return drawn


def scales_of(mechanism, rows):
    """The noise scale of every row, read off what the mechanism draws."""
    drawn = drawn_with(mechanism, np.zeros(mechanism.form.domain.shape, dtype=np.int64))
    listed = [scale for scale, size in drawn for _ in range(size)]
    return listed + [Fraction(0)] * (rows - len(listed))


def loss_between(mechanism, rows, scales, tables):
    """The worst log-ratio of probabilities between two tables, or the largest Renyi divergence over its order."""
    changes = [abs(a - b) for a, b in zip(*map(rows, tables), strict=True)]
    assert all(scale or not change for change, scale in zip(changes, scales, strict=True)), "a secret without noise"
    hidden = (each for each in zip(changes, scales, strict=True) if each[0])
    if mechanism.counted_in is RHO:
        return sum((Fraction(change**2) / (2 * variance) for change, variance in hidden), Fraction(0))
    return sum((change / scale for change, scale in hidden), Fraction(0))


@INDEPENDENT
@given(policy=policies(most_cells=6, most_attributes=2, most_facts=3), epsilon=EPSILONS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_known_facts_never_push_the_loss_above_the_certificate(kind, policy, epsilon, silent):
    query = query_for(kind, policy.domain)
    assume(query is not None and policy.known)
    try:
        mechanism = losing(kind, epsilon, query, policy, 5)
    except bp.RefusalError as refused:
        assert "cross each other" in str(refused)
        return
    certificate = mechanism.certify(policy)
    assert certificate.amount in (0, epsilon)
    scales, rows = scales_of(mechanism, mechanism.rows), exact_rows(mechanism, policy, query)
    for moves in moves_together(policy, 4):
        tables = [[x for x, _ in moves], [y for _, y in moves]]
        assert loss_between(mechanism, rows, scales, tables) <= certificate.amount


@INDEPENDENT
@given(policy=policies(most_cells=7, most_attributes=2, sizes=SIZES), epsilon=EPSILONS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_loss_on_every_neighbour_is_within_the_certificate(kind, policy, epsilon, silent):
    # Rows are exact whole numbers plus discrete Laplace noise, so the worst log-ratio of probabilities between two
    # tables is the sum over rows of |difference| / scale; for Gaussian noise, the divergence over its order is the sum
    # of difference^2 / (2 variance). It must never exceed the certificate, and reach it somewhere.
    query = query_for(kind, policy.domain)
    assume(query is not None)
    mechanism = calibrated(kind, query, policy, epsilon, 5)
    assume(mechanism is not None)
    axes = [policy.domain.axis(name) for name in query.attributes]
    certificate = mechanism.certify(policy)
    scales, rows = scales_of(mechanism, mechanism.rows), exact_rows(mechanism, policy, query)
    worst = Fraction(0)
    for x, y in neighbours(policy, 2):
        loss = loss_between(mechanism, rows, scales, (x, y))
        moved = [(a, b) for a, b in zip(x, y, strict=True) if a != b]
        ends = [tuple(cell[axis] for axis in axes) for cell in moved[0] if cell != ABSENT]
        assert loss == (mechanism.loss(*ends) if len(ends) == 2 else mechanism.presence(*ends))
        assert loss <= certificate.loss.on(class_of(policy, *moved[0]))
        worst = max(worst, loss)
    assert worst <= certificate.amount
    if certificate.sensitivity.exact:
        assert worst == certificate.amount


def check_draws(mechanism, policy, counts):
    """Where rows are not independent, the scales stated are checked elsewhere; so they are the ones to draw with."""
    drawn = [scale for scale, _ in drawn_with(mechanism, counts)]
    if mechanism.name in IN_ROUNDS:
        written = measured_with(zeros, mechanism, counts)
        assert mechanism.fits(written)
        assert drawn == [step.scale for step in mechanism.steps(written) if isinstance(step, Look) and step.scale]
        return len(drawn)
    rounds = getattr(mechanism, "rounds", 1)
    stated = iter(mechanism.certify(policy).scales * rounds)
    # What is not needed is not drawn: the depths that a mesh has not, hats on a short line, noise in empty blocks.
    assert all(scale in stated for scale in drawn)
    assert len(drawn) == {"lloyd": 2 * rounds, "soft-mesh": 2}.get(mechanism.name, len(drawn))
    return len(drawn)


DEPENDENT = pytest.mark.parametrize(
    "kind", [kind for kind in MECHANISMS.values() if not kind.independent_rows], ids=lambda kind: kind.name
)


@DEPENDENT
@given(policy=policies(most_cells=30, most_attributes=2, sizes=SIZES), epsilon=EPSILONS, data=st.data())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_noise_drawn_is_the_noise_certified(kind, policy, epsilon, data):
    query = query_for(kind, policy.domain)
    assume(query is not None)
    own = query.own_domain(policy.domain)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=own.size, max_size=own.size)))
    records = None if policy.size == "unknown" else max(1, int(counts.sum()))
    try:
        mechanism = losing(kind, epsilon, query, policy, records)
    except bp.RefusalError:
        assume(condition=False)
    assume(mechanism.certify(policy).amount)
    check_draws(mechanism, policy, counts.reshape(own.shape))


@pytest.mark.parametrize(("kind", "policy"), [each for each in sized() if not each.values[0].independent_rows])
def test_the_noise_drawn_on_a_larger_domain_is_the_noise_certified(kind, policy):
    query = query_for(kind, policy.domain)
    mechanism = calibrated(kind, query, policy, Fraction(1), 1681)
    made = check_draws(mechanism, policy, np.ones(query.own_domain(policy.domain).shape, dtype=np.int64))
    many = {
        "grid-flow": 4,
        "gaussian-flow": 6,
        "soft-grid": 1,
        "soft-mesh": 2,
        "lloyd": 10,
        "counted-grid": 2,
        "adaptive-grid": 3 + (policy.size == "unknown"),
    }
    # In rounds, both attributes twice, at the first and at the last, and their table as often as it is chosen.
    assert made >= 4 if kind.name in IN_ROUNDS else made == many[kind.name]


STEPS = {"lloyd": 2, "soft-mesh": 1, "counted-grid": 1, "adaptive-grid": 1}
"""How many draws belong to a step of those whose next question depends on noisy numbers."""


@pytest.mark.parametrize("secrets", [bp.DistanceThreshold(40), bp.Partition(widths={"v": 250})], ids=type)
@pytest.mark.parametrize(
    ("kind", "like"), [each for each in sized() if each.values[0].name not in (*FLOWS, *IN_ROUNDS)]
)
def test_every_number_drawn_is_added_to_one_row_as_it_is(kind, like, secrets):
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 1999), w=bp.Integer(0, 2)), secrets=secrets, size=like.size)
    query = query_for(kind, policy.domain)
    counts = np.random.default_rng(7).choice([0, 1, 3, 5000], query.own_domain(policy.domain).shape)
    mechanism = calibrated(kind, query, policy, Fraction(1), int(counts.sum()))
    exact, many = measured_with(zeros, mechanism, counts), len(drawn_with(mechanism, counts))
    first = range(STEPS.get(kind.name, many))
    for step in {first, range(many)[-len(first) :]}:
        made, noisy = added(step, mechanism, counts)
        rows = len(made) if step == first and kind.name in STEPS else len(exact)
        change = noisy[:rows] - exact[:rows]
        assert sorted(change[change != 0].tolist()) == sorted(made)
    drawn = sum(int(np.prod(size)) for _, size in drawn_with(mechanism, counts))
    blocks = 8 * (isinstance(secrets, bp.Partition) and policy.size == "known")
    assert len(exact) - drawn == without_noise(mechanism, exact, blocks=blocks)


EXACT_BLOCKS = ("smooth-hierarchy", "ordered", "gaussian-hierarchy", "gaussian-ordered", "soft-grid", "marginals")
"""Those that count blocks of a partition exactly."""


def without_noise(mechanism, rows, *, blocks):
    """How many rows are public: the totals of blocks where they are told apart, and the code of a mesh."""
    if mechanism.name == "soft-mesh":
        return 2 + len(mechanism.parse(rows)[0].code)
    if mechanism.name == "mean-offsets":
        return int(mechanism.count_scale is None)
    if mechanism.name == "soft-grid" and not mechanism.blocks:
        return 0  # few wide blocks share one grid, and are not told apart
    return blocks if mechanism.name in EXACT_BLOCKS else 0


def added(step, mechanism, counts):
    """Measure with numbers far beyond the tails in some of the draws, each of them once, and no noise in the others."""
    generator, draws, made = np.random.default_rng(8), count(), []

    def noise(scale, size, source=None):
        number = next(draws)
        if number not in step:
            return zeros(scale, size)
        distinct = generator.permutation(np.prod(size)) + 10**7 * (number + 1)
        distinct *= generator.choice([-1, 1], len(distinct))
        made.extend(distinct.tolist())
        return distinct.reshape(size)

    return made, measured_with(noise, mechanism, counts)


@pytest.mark.parametrize("name", FLOWS)
def test_every_number_drawn_goes_into_a_flow_as_it_is(name):
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 40), w=bp.Integer(0, 40)), secrets=bp.DistanceThreshold(5))
    kind = MECHANISMS[name]
    mechanism = losing(kind, Fraction(1), query_for(kind, policy.domain), policy, 10_000)
    counts = np.random.default_rng(7).choice([0, 1, 3, 5000], (41, 41))
    sizes = [int(np.prod(size)) for _, size in drawn_with(mechanism, counts)]
    assert sum(sizes) > 1681

    def change(draw, place, number):
        """What one number at one place changes, all others being zero."""
        draws = count()

        def noise(scale, size, source=None):
            made = np.zeros(int(np.prod(size)), dtype=np.int64)
            if next(draws) == draw:
                made[place] = number
            return made.reshape(size)

        return measured_with(noise, mechanism, counts) - measured_with(zeros, mechanism, counts)

    for draw, size in enumerate(sizes):
        found = [change(draw, place, 10**9) for place in (0, size // 2, size - 1)]
        assert len({tuple(each) for each in found}) == 3
        for place, each in zip((0, size // 2, size - 1), found, strict=True):
            assert np.abs(each).max() > 10**8
            # Its matrix has integers over 2^20, so that what is added is rounded once.
            assert np.abs(change(draw, place, -(10**7)) * -100 - each).max() <= 100


@pytest.mark.parametrize(("kind", "policy"), [each for each in sized() if each.values[0].name not in IN_ROUNDS])
def test_halving_any_scale_is_noticed(kind, policy):
    # The size of a single cluster is public, so two are asked for.
    query = bp.KMeans(["v", "w"], k=2) if kind.name == "lloyd" else query_for(kind, policy.domain)
    mechanism = calibrated(kind, query, policy, Fraction(1), 5)
    written = mechanism.to_document()
    scales = re.findall(r'"(?:scale|variance|edge_loss)": "([^"]+)"', json.dumps(written))
    assert scales
    for place in range(len(scales)):
        weaker = kind.from_document(query, policy, halved(written, place), None if policy.size == "unknown" else 5)
        assert weaker.certify(policy).amount > 1


def halved(written, place):
    """Halve the noise of one part in a mechanism's document."""
    numbers = iter(range(100))

    def replacement(found):
        # Noise is proportional to a scale, and inversely to the loss of an edge.
        factor = 1 if next(numbers) != place else 2 if found[1] == "edge_loss" else Fraction(1, 2)
        return f'"{found[1]}": "{Fraction(found[2]) * factor}"'

    return json.loads(re.sub(r'"(scale|variance|edge_loss)": "([^"]+)"', replacement, json.dumps(written)))


@pytest.mark.parametrize(
    ("kind", "policy"), [each for each in sized(bp.FullDomain(), 10) if each.values[0].name not in IN_ROUNDS]
)
def test_a_mechanism_without_noise_certifies_nothing_secret(kind, policy):
    query = query_for(kind, policy.domain)
    mechanism = calibrated(kind, query, policy, Fraction(1), 500)
    silenced = json.loads(
        re.sub(r'"(scale|variance|edge_loss)": "[^"]+"', r'"\1": "0"', json.dumps(mechanism.to_document()))
    )
    with pytest.raises(bp.PolicyError, match="certifies nothing"):
        kind.from_document(query, policy, silenced, None if policy.size == "unknown" else 5).certify(policy)


# One count, 3 on one table and 4 on its neighbour; the event {output <= 3}. With discrete Laplace noise of scale b its
# probabilities are 1 - q/(1+q) and q^0... both in closed form below, and their ratio is exactly e^(1/b).
SAMPLES = 40_000
SIGMAS = 6.5  # a normal deviate beyond 6.5 has probability below 1e-10: the false-alarm rate of the test below


def observed_share(scale, exact_answer, event):
    from blowfish_privacy.mechanisms.independent import Laplace

    domain = bp.Domain(v=bp.Integer(0, 0))
    form = bp.Histogram("v").on(domain)
    mechanism = Laplace(form, scale)
    counts = np.array([exact_answer])
    source = SystemSource()
    return sum(event(mechanism.measure(counts, source)[0]) for _ in range(SAMPLES)) / SAMPLES


def at_most_three(scale, exact_answer):
    q = exp(-1 / float(scale))
    above = q ** (3 - exact_answer + 1) / (1 + q) if exact_answer <= 3 else None
    return 1 - above if above is not None else q ** (exact_answer - 3) / (1 + q)


def agrees(share, probability):
    return abs(share - probability) <= SIGMAS * (probability * (1 - probability) / SAMPLES) ** 0.5


def mean_size_agrees(drawn, scale, measure=EPSILON):
    """Compare the mean size of draws of noise with that of a scale, or of a variance."""
    if measure is RHO:
        steps = np.arange(60 * (1 + int(scale**0.5)))
        chances = np.exp(-(steps**2) / (2 * float(scale))) * np.where(steps, 2, 1)
        mean, square = (float((steps**power * chances).sum() / chances.sum()) for power in (1, 2))
    else:
        q = exp(-1 / float(scale))
        mean, square = 2 * q / (1 - q**2), 2 * q / (1 - q) ** 2
    return abs(np.abs(drawn).mean() - mean) <= SIGMAS * ((square - mean**2) / len(drawn)) ** 0.5


@pytest.mark.parametrize(("kind", "policy"), [each for each in sized(width=7) if each.values[0].independent_rows])
def test_sampled_rows_have_the_noise_that_the_certificate_speaks_of(kind, policy):
    query = query_for(kind, policy.domain)
    mechanism = calibrated(kind, query, policy, Fraction(1), 1681)
    counts = np.full(query.own_domain(policy.domain).shape, 5)
    exact, source = measured_with(zeros, mechanism, counts), SystemSource()
    rows = np.array([mechanism.measure(counts, source) - exact for _ in range(1000)])
    scales = np.array(scales_of(mechanism, mechanism.rows))
    for scale in {scale for scale in scales if scale}:
        drawn = rows[:, scales == scale].reshape(-1)
        assert mean_size_agrees(drawn, scale, kind.counted_in)
        for mutant in (scale / 2, scale * 2):
            assert not mean_size_agrees(drawn, mutant, kind.counted_in), (
                "the test must notice too little and too much noise"
            )


def test_sampled_releases_have_the_probabilities_that_the_certificate_speaks_of():
    scale = Fraction(2)
    shares = {n: observed_share(scale, n, lambda value: value <= 3) for n in (3, 4)}
    for n, share in shares.items():
        assert agrees(share, at_most_three(scale, n))
    assert log(at_most_three(scale, 3) / at_most_three(scale, 4)) == pytest.approx(1 / 2)
    for mutant in (Fraction(3, 2), Fraction(5, 2)):
        assert not agrees(shares[4], at_most_three(mutant, 4)), "the test must notice a wrong scale"
