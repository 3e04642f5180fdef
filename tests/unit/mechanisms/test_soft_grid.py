"""The soft grid and the mesh: certificates against enumeration, exact arithmetic, honest estimates."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.aggregates import Axis, Lattice, Run, TableAggregates
from blowfish_privacy.domain import Binned, Numeric
from blowfish_privacy.mechanisms import MECHANISMS, SoftGrid, SoftMesh
from blowfish_privacy.mechanisms.clusters.soft_grid import coarsened
from blowfish_privacy.mechanisms.clusters.soft_mesh import Mesh
from blowfish_privacy.mechanisms.clusters.synopsis import change, keep_largest, lattice_sensitivity, project, stretches
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.release import reading, verification
from blowfish_privacy.testing.strategies import policies
from effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")


def ordered(policy):
    return all(isinstance(attribute, Numeric | Binned) for attribute in policy.domain.attributes)


def lattices(data, shape):
    axes = []
    for size in shape:
        cells = data.draw(st.integers(1, 6))
        run = data.draw(st.sampled_from([Run.centred(0, size, 1, cells), Run.cornered(size, cells)]))
        axes.append(Axis((run,), data.draw(st.sampled_from([run.step, 4 * run.step, 8, 13]))))
    return Lattice(tuple(axes))


@given(policy=policies(most_cells=40, most_attributes=3), data=st.data())
@settings(deadline=None, max_examples=examples(150))
def test_no_secret_pair_changes_a_lattice_more_than_its_sensitivity(policy, data):
    assume(ordered(policy))
    lattice = lattices(data, policy.domain.shape)
    found = lattice_sensitivity(lattice, policy.domain.names, policy)
    changes = [change(lattice, x, y) for x, y in policy.graph.edges()]
    worst = max(changes, default=Fraction(0))
    assert worst <= found.value <= 2
    if found.exact:
        assert worst == found.value


@pytest.mark.parametrize("theta", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("cells", [(2, 3), (4, 4), (1, 5)])
def test_the_closed_form_is_attained_for_thresholds_on_whole_numbers(theta, cells):
    # 2 min(1, theta m / size): nodes are size / m positions apart, and all of theta may be spent along one axis.
    sizes = (12, 15)
    domain = bp.Domain(a=bp.Integer(0, 11), b=bp.Integer(0, 14))
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(theta))
    runs = [Run.centred(0, size, 1, m) for size, m in zip(sizes, cells, strict=True)]
    lattice = Lattice(tuple(Axis((run,), run.step) for run in runs))
    found = lattice_sensitivity(lattice, domain.names, policy)
    closed = 2 * min(Fraction(1), max(Fraction(theta * m, s) for m, s in zip(cells, sizes, strict=True) if m > 1))
    assert found.value == max(change(lattice, x, y) for x, y in policy.graph.edges())
    assert found.exact
    # At the ends, where records are clamped to the last node, shares change less: never more than the closed form.
    assert found.value <= closed


@given(policy=policies(most_cells=30, most_attributes=2))
@settings(deadline=None, max_examples=examples(100))
def test_no_secret_pair_leaves_a_stretch(policy):
    for name in policy.domain.names:
        if not policy.domain[name].ordered:
            continue
        axis = policy.domain.axis(name)
        label = {}
        for run, (start, width, count) in enumerate(stretches(policy.graph, name)):
            label |= {start + place: (run, place // width) for place in range(width * count)}
        assert sorted(label) == list(range(policy.domain[name].size))
        assert all(label[x[axis]] == label[y[axis]] for x, y in policy.graph.edges())


def exact_rows(mechanism, counts, patch):
    patch.setattr("blowfish_privacy.mechanisms.row_noise.discrete_laplace", silent)
    return mechanism.draw(TableAggregates(mechanism.form.domain, counts), SystemSource())


def silent(scale, size, source=None):
    return np.zeros(size, dtype=np.int64)


@given(policy=policies(most_cells=24, most_attributes=2), records=st.sampled_from([3, 60, 900]), data=st.data())
@settings(deadline=None, max_examples=examples(120))
def test_what_is_released_changes_no_more_than_certified(policy, records, data):
    # Counts of any table, one record moved along a secret pair: rows may change by at most epsilon times the scale.
    assume(ordered(policy))
    query = bp.KMeans(list(policy.domain.names), k=1)
    made = SoftGrid.calibrated(query, policy, epsilon=Fraction(2), records=records)
    certificate = made.certify(policy)
    assert certificate.epsilon == (2 if certificate.sensitivity.value else 0)
    seed = data.draw(st.integers(0, 10**6))
    counts = np.random.default_rng(seed).multinomial(records, np.full(policy.domain.size, 1 / policy.domain.size))
    counts = counts.reshape(policy.domain.shape)
    with pytest.MonkeyPatch.context() as patch:
        before = exact_rows(made, counts, patch)
        assert made.fits(before)
        assert made.points(before, records).records == pytest.approx(records)
        for x, y in list(policy.graph.edges())[:20]:
            if counts[x]:
                moved = counts.copy()
                moved[x] -= 1
                moved[y] += 1
                after = exact_rows(made, moved, patch)
                assert np.abs(before - after).sum() <= certificate.epsilon * made.scale


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=12), st.integers(1, 12), st.data())
def test_handing_sums_to_fewer_nodes_keeps_the_total_and_never_spreads_a_change(sums, cells, data):
    table = np.array(sums, dtype=np.int64)
    changed = table + np.array([data.draw(st.integers(0, 50)) for _ in sums])
    assume(cells <= len(sums))
    made, other = coarsened(table, 0, cells), coarsened(changed, 0, cells)
    assert made.sum() == table.sum()
    assert (made >= 0).all()
    assert np.abs(made - other).sum() <= np.abs(table - changed).sum()


@st.composite
def meshes(draw):
    dimensions, depth = draw(st.sampled_from([(1, 4), (2, 3), (3, 2)]))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    return Mesh.grow(dimensions, depth, lambda level, cells: generator.random(len(cells)) < 0.6)


@given(meshes(), st.integers(0, 10**6))
@settings(deadline=None, max_examples=examples(100))
def test_a_mesh_hands_on_exactly_and_never_spreads_a_change(mesh, seed):
    generator = np.random.default_rng(seed)
    sums = generator.integers(0, 2**40, mesh.shape)
    changed = sums + generator.integers(-3, 4, mesh.shape)
    made, other = mesh.restrict(sums), mesh.restrict(changed)
    assert made.sum() == sums.sum()
    assert np.abs(made - other).sum() <= np.abs(sums - changed).sum()
    again = Mesh.decode(mesh.dimensions, mesh.depth, mesh.code)
    assert again.places.tolist() == mesh.places.tolist()
    with pytest.raises(bp.SpecError):
        Mesh.decode(mesh.dimensions, mesh.depth, np.append(mesh.code, 1))


@given(meshes())
@settings(deadline=None, max_examples=examples(60))
def test_shares_of_a_mesh_are_those_of_the_finest_lattice_handed_on(mesh):
    # The middle of a leaf's part, put on the finest lattice by hand and handed on, has the shares of the matrix.
    leaves = np.arange(len(mesh.levels))
    matrix, lows, highs = mesh.matrix(leaves, 2)
    assert np.asarray(matrix.sum(axis=0)).reshape(-1) == pytest.approx(1)
    big = 2**40
    for cell in range(0, matrix.shape[1], max(1, matrix.shape[1] // 5)):
        at = (lows[cell] + highs[cell]) / 2 * 2**mesh.depth
        sums = np.zeros(mesh.shape, dtype=np.int64)
        for corner in product((0, 1), repeat=mesh.dimensions):
            base = np.minimum(at.astype(int), 2**mesh.depth - 1)
            share = np.prod([f if up else 1 - f for f, up in zip(at - base, corner, strict=True)])
            sums[tuple(base + np.array(corner))] += int(share * big)
        column = np.asarray(matrix[:, [cell]].todense()).reshape(-1)
        assert mesh.restrict(sums) / big == pytest.approx(column, abs=1e-6)


@pytest.mark.parametrize("theta", [None, 1, 5])
def test_the_meshs_exact_rows_change_no_more_than_certified(theta):
    domain = bp.Domain(a=bp.Integer(0, 15), b=bp.Integer(0, 15))
    secrets = bp.FullDomain() if theta is None else bp.DistanceThreshold(theta)
    policy = bp.Policy(domain, secrets=secrets)
    made = SoftMesh.calibrated(bp.KMeans(["a", "b"], k=2), policy, epsilon=Fraction(4), records=2000)
    assert made.certify(policy).epsilon == 4
    counts = np.zeros((16, 16), dtype=np.int64)
    counts[2, 3], counts[12, 12] = 1200, 800
    with pytest.MonkeyPatch.context() as patch:
        look = exact_rows(made, counts, patch)[: made.rows]
        mesh, level = made.choose(look, 2000)
        assert mesh.levels.max() > 1
        lattice = level.lattice
        unit = np.zeros((16, 16), dtype=np.int64)
        worst = Fraction(0)
        for x, y in combinations(list(domain.cells())[:: 1 if theta == 1 else 3], 2):
            if policy.graph.adjacent(x, y):
                rows = []
                for cell in (x, y):
                    unit[cell] += 1
                    rows.append(mesh.restrict(lattice.contract(counts + unit)))
                    unit[cell] -= 1
                worst = max(worst, int(np.abs(rows[0] - rows[1]).sum()) / level.scale)
    assert 0 < worst <= 3  # three quarters of epsilon


def test_projections():
    generator = np.random.default_rng(2)
    noisy = generator.normal(0, 5, (30, 4))
    totals = np.array([10.0, 100.0, 1.0, 0.0])
    found = project(noisy, totals)
    assert (found >= 0).all()
    assert found.sum(axis=0) == pytest.approx(totals)
    for column in range(3):
        # The nearest point of the simplex: all kept numbers are lowered by the same amount, none below it is kept.
        kept = found[:, column] > 0
        shift = (noisy - found)[kept, column]
        assert shift == pytest.approx(np.full(kept.sum(), shift[0]))
        assert (noisy[~kept, column] <= shift[0] + 1e-9).all()
    assert keep_largest(np.array([5.0, 3.0, -2.0, 0.5]), 10.0, 1.0).tolist() == [6.25, 3.75, 0.0, 0.0]


def blobs(records, seed=1):
    generator = np.random.default_rng(seed)
    centres = np.array([[20, 20], [60, 100], [110, 40]])
    return np.clip(np.rint(centres[generator.integers(0, 3, records)] + generator.normal(0, 4, (records, 2))), 0, 127)


POLICIES = {
    "full": bp.FullDomain(),
    "attributes": bp.Attributes(),
    "threshold": bp.DistanceThreshold(8),
    "partition": bp.Partition(widths={"a": 32, "b": 50}),
    "interleaved": bp.Partition(blocks={"a": [list(range(0, 128, 2)), list(range(1, 128, 2))]}),
    "mixed": bp.PerAttribute(a=bp.Public(), b=bp.DistanceThreshold(10)),
    "public": bp.Public(),
}


@pytest.mark.parametrize("secrets", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("mechanism", [None, "soft-grid"])
def test_every_policy_from_plan_to_verified_document(secrets, mechanism, tmp_path):
    table = blobs(5000).astype(int)
    counts = np.zeros((128, 128), dtype=int)
    np.add.at(counts, tuple(table.T), 1)
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 127), b=bp.Integer(0, 127)), secrets=secrets)
    session = bp.Session(bp.Counts(counts), policy, budget=2)
    plan = session.plan(bp.KMeans(["a", "b"], k=3), epsilon=1, mechanism=mechanism)
    assert plan.explain()
    result = session.release(plan)
    assert plan.epsilon == (0 if isinstance(secrets, bp.Public) else 1)
    found = result.centers[result.centers[:, 0].argsort()]
    assert found == pytest.approx(np.array([[20, 20], [60, 100], [110, 40]]), abs=6)
    assert verification.problems(result.text) == []
    result.save(tmp_path / "k.release.json")
    again = bp.load(tmp_path / "k.release.json")
    assert again.centers.tolist() == result.centers.tolist()
    assert len(again.clusters(5).centers) == 5
    assert again.sizes.sum() == pytest.approx(5000)
    elbow = again.elbow(4)
    assert list(elbow.values()) == sorted(elbow.values(), reverse=True)
    assert again.predict([[18, 22], [62, 99]]).tolist() == result.predict(found[:2]).tolist()
    assert abs(again.quantile("a", "0.5") - np.median(table[:, 0])) < 12
    assert abs(again.mean("b") - table[:, 1].mean()) < 6
    assert again.mean("a", within=0) == pytest.approx(again.centers[0, 0], abs=3)
    assert again.synthetic(100).shape == (100, 2)
    assert len(again.to_frame()) == 3
    again.plot(tmp_path / "k.png")
    assert (tmp_path / "k.png").stat().st_size > 5000


def test_more_records_are_measured_on_a_mesh_and_fewer_on_a_grid():
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 99), b=bp.Integer(0, 99)), secrets=bp.FullDomain())
    for records, wanted in ((1599, "soft-grid"), (1600, "soft-mesh")):
        counts = np.zeros((100, 100), dtype=int)
        counts[5, 5] = records
        plan = bp.Session(bp.Counts(counts), policy, budget=9).plan(bp.KMeans(["a", "b"], k=2), epsilon=1)
        assert plan.mechanism.name == wanted


def test_before_a_release_its_quality_is_simulated_on_public_points():
    counts = np.zeros((64, 64), dtype=int)
    counts[3, 3] = 20_000
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 63), b=bp.Integer(0, 63)), secrets=bp.FullDomain())
    session = bp.Session(bp.Counts(counts), policy, budget=9)
    good, bad = (session.plan(bp.KMeans(["a", "b"], k=4), epsilon=e) for e in ("5", "0.001"))
    assert max(good.typical_ratios().values()) < 1.1
    assert max(bad.typical_ratios().values()) > 1.2
    assert "public synthetic points" in good.explain()
    assert session.plan(bp.Histogram("a"), epsilon=1).typical_ratios() == {}
    assert session.remaining == 9


def test_a_changed_document_is_noticed():
    counts = np.full((16, 16), 30)
    policy = bp.Policy(bp.Domain(a=bp.Integer(0, 15), b=bp.Integer(0, 15)), secrets=bp.FullDomain())
    for mechanism in ("soft-grid", "soft-mesh"):
        text = (
            bp.Session(bp.Counts(counts), policy, budget=9)
            .release(bp.KMeans(["a", "b"], k=2), epsilon=1, mechanism=mechanism)
            .text
        )
        body = reading.parse(text)
        written = body["mechanism"]
        part = written if mechanism == "soft-grid" else written["levels"][-1]
        part["scale"] = str(Fraction(part["scale"]) / 2)
        assert any("epsilon" in problem for problem in verification.problems(bp.results.document.dumps(body)))
        body["values"].pop()
        assert verification.problems(bp.results.document.dumps(body))


@pytest.mark.parametrize("dimensions", [1, 2, 5, 8])
@pytest.mark.parametrize("records", [1, 7, 40, 300])
def test_few_records_in_any_number_of_dimensions_give_centres_inside_the_box_or_are_refused(dimensions, records):
    # n epsilon below 2^d: the grid is coarser than two cells along some axes; the whole box as one cell is refused.
    domain = bp.Domain({f"x{n}": bp.Integer(0, 9) for n in range(dimensions)})
    policy = bp.Policy(domain, secrets=bp.FullDomain())
    table = {name: np.arange(records) % 10 for name in domain.names}
    import pandas as pd

    session = bp.Session(pd.DataFrame(table), policy, budget=9)
    query = bp.KMeans(list(domain.names), k=min(3, records))
    if records < 40:
        with pytest.raises(bp.RefusalError, match="say too little"):
            session.release(query, epsilon="0.5")
        assert session.ledger.remaining == 9
        return
    result = session.release(query, epsilon="0.5")
    assert result.centers.shape == (min(3, records), dimensions)
    assert ((result.centers >= 0) & (result.centers <= 9)).all()


BOX = bp.Domain(a=bp.Integer(0, 9), b=bp.Integer(0, 9), c=bp.Categorical(["x"]), z=bp.Integer(4, 4))


def release(query, counts=None, mechanism=None, **options):
    counts = np.ones(BOX.shape, dtype=int) if counts is None else counts
    return bp.Session(bp.Counts(counts), bp.Policy(BOX, secrets=bp.FullDomain(), **options), budget=9).release(
        query, epsilon=1, mechanism=mechanism
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: release(bp.KMeans(["a", "b"], k=101)), "only 100 values"),
        (lambda: release(bp.KMeans(["a"], k=2), np.zeros(BOX.shape, dtype=int)), "at least as many records"),
        (lambda: release(bp.KMeans(["a", "c"], k=2)), "categories have no mean"),
        (lambda: release(bp.KMeans(["z"], k=2)), "only 1 values"),
        (lambda: release(bp.KMeans(["nope"], k=2)), "no attribute"),
        (lambda: release(bp.KMeans(["a"], k=2), size="unknown", mechanism="soft-grid"), "public number of records"),
        (lambda: release(bp.KMeans(["a"], k=2), mechanism="counted-grid"), "number of records is public"),
        (lambda: bp.KMeans(["a", "a"], k=2), "twice"),
        (lambda: bp.KMeans([], k=2), "list of attributes"),
        (lambda: bp.KMeans(["a"], k=0), "at least 1"),
        (lambda: bp.KMeans(["a"], k=2.0), "at least 1"),
        (lambda: release(bp.KMeans(["a"], k=2)).predict([[1, 2]]), "1 columns"),
        (lambda: release(bp.KMeans(["a"], k=2)).predict([[float("nan")]]), "finite"),
        (lambda: release(bp.KMeans(["a"], k=2)).clusters(0), "between 1 and 10"),
        (lambda: release(bp.KMeans(["a"], k=2)).quantile("a", 2), "between 0 and 1"),
        (lambda: release(bp.KMeans(["a"], k=2)).mean("a", within=2), "numbered 0 to 1"),
    ],
)
def test_bad_input(make, said):
    with pytest.raises(bp.BlowfishError, match=said):
        make()


def test_a_constant_column_and_a_box_of_zero_width():
    result = release(bp.KMeans(["a", "z"], k=2))
    assert result.centers[:, 1] == pytest.approx([4, 4])
    counts = np.zeros(BOX.shape, dtype=int)
    counts[3, 3] = 1000
    assert release(bp.KMeans(["a", "b"], k=1), counts).centers == pytest.approx(np.array([[3, 3]]), abs=0.5)


def test_known_facts_make_several_records_move():
    domain = bp.Domain(a=bp.Integer(0, 9), b=bp.Integer(0, 9), sex=bp.Categorical(["f", "m"]))
    known = [bp.KnownMarginal("sex")]
    plain = bp.Policy(domain, secrets=bp.FullDomain())
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=known)
    query = bp.KMeans(["a", "b"], k=2)
    for kind in ("soft-grid", "soft-mesh", "lloyd"):
        losses = []
        for each in (plain, policy):
            made = MECHANISMS[kind].calibrated(query, each, epsilon=Fraction(1), records=10_000)
            losses.append((made.certify(each).epsilon, made.loss((0, 0), (9, 9))))
        # One record of each sex moves: each may lose half of epsilon only.
        assert losses[0][0] == losses[1][0] == 1
        assert losses[1][1] <= Fraction(1, 2)
    free = bp.Policy(
        domain, secrets=bp.PerAttribute(a=bp.FullDomain(), b=bp.FullDomain(), sex=bp.Public()), known=known
    )
    made = MECHANISMS["soft-grid"].calibrated(query, free, epsilon=Fraction(1), records=10_000)
    assert made.certify(free).epsilon == 1
