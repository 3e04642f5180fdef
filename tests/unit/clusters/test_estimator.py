"""scikit-learn's manners, as far as a private estimator can have them."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import blowfish_privacy as bp
from blowfish_privacy.estimator import KMeansEstimator
from predictable import predictable_bits

DOMAIN = bp.Domain(a=bp.Binned(list(range(-20, 21)), outside="clamp"), b=bp.Integer(0, 99))
POLICY = bp.Policy(DOMAIN, secrets=bp.FullDomain())


def box(width):
    edges = [Fraction(n, 4) for n in range(-80, 81)]
    domain = bp.Domain({f"x{n}": bp.Binned(edges, outside="clamp") for n in range(width)})
    return bp.Policy(domain, secrets=bp.FullDomain())


class Repeating(KMeansEstimator):
    """Draws the same noise in every fit: two fits of one table are compared."""

    def fit(self, X, y=None):
        with predictable_bits("fit"):
            return super().fit(X, y)


class FittingAnyWidth(Repeating):
    """For scikit-learn's checks, whose tables differ in width, which one policy cannot: the only exception made."""

    def _policy_for(self, width):
        return box(width)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    made = FittingAnyWidth(n_clusters=2, policy=box(2), epsilon="5")
    results = check_estimator(made, on_fail=None, on_skip=None)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    assert not failed, {name: str(error)[:200] for name, error in failed.items()}
    assert sum(each["status"] == "passed" for each in results) >= 40


def test_centres_are_found_and_nothing_exact_is_left_on_the_object():
    generator = np.random.default_rng(5)
    table = np.concatenate([generator.normal((-10, 20), 1, (2000, 2)), generator.normal((10, 80), 1, (2000, 2))])
    table[:, 1] = table[:, 1].round()
    made = Repeating(n_clusters=2, policy=POLICY, epsilon="2").fit(table)
    centres = made.cluster_centers_[made.cluster_centers_[:, 0].argsort()]
    assert centres == pytest.approx(np.array([[-10, 20], [10, 80]]), abs=3)
    assert set(vars(made)) - {"n_clusters", "policy", "epsilon", "ledger", "mechanism"} == {
        *("n_features_in_", "release_", "cluster_centers_", "cluster_sizes_")
    }
    assert made.predict([[-9, 25], [11, 70]]).tolist() == made.predict([[-10, 20], [10, 80]]).tolist()
    assert made.release_.certificate.epsilon == 2
    assert clone(made).get_params()["epsilon"] == "2"


def test_a_ledger_is_charged_when_given(tmp_path):
    table = np.zeros((50, 2))
    empty = bp.Counts(np.zeros(DOMAIN.shape, dtype=int))
    ledger = bp.Session(empty, POLICY, budget=1, ledger=tmp_path / "l", create=True).ledger
    for _ in range(2):
        KMeansEstimator(n_clusters=1, policy=POLICY, epsilon="0.5", ledger=ledger).fit(table)
    assert ledger.remaining == 0
    with pytest.raises(bp.BudgetError):
        KMeansEstimator(n_clusters=1, policy=POLICY, epsilon="0.5", ledger=ledger).fit(table)
    with pytest.raises(bp.LedgerError, match="there is no ledger"):
        KMeansEstimator(n_clusters=1, policy=POLICY, epsilon="0.5", ledger=tmp_path / "absent").fit(table)


@pytest.mark.parametrize(
    "table", [[["secret", "b"]] * 99, [31415.0, 2.0], np.full((9, 2), 31415j), [[31415, np.inf]] * 99]
)
def test_no_error_quotes_a_value(table):
    with pytest.raises(bp.DataError) as caught:
        KMeansEstimator(n_clusters=1, policy=POLICY, epsilon="1").fit(table)
    assert isinstance(caught.value, ValueError)
    assert "31415" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


FRAMES = {
    "pandas": lambda names: pd.DataFrame(np.zeros((99, 2)), columns=names),
    "polars": lambda names: pl.DataFrame(np.zeros((99, 2)), schema=names),
    "arrow": lambda names: pa.table(dict(zip(names, np.zeros((2, 99)), strict=True))),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("names", [["31415", "271"], ["b", "a"], ["a", "31415"]], ids=["headerless", "moved", "one"])
def test_names_that_are_not_the_domains_are_refused_and_nowhere_kept(frame, names):
    """A table read without its header is named after the first person's values."""
    fresh, fitted = Repeating(n_clusters=1, policy=POLICY, epsilon="1"), Repeating(1, policy=POLICY, epsilon="1")
    fitted.fit(frame(["a", "b"]))
    for made, method in ((fresh, fresh.fit), (fitted, fitted.fit), (fitted, fitted.predict)):
        with pytest.raises(bp.DataError, match="named like the policy's attributes.* a, b;") as caught:
            method(frame(names))
        assert isinstance(caught.value, ValueError)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert "31415" not in f"{caught.value!s} {caught.value!r}"
        assert b"31415" not in pickle.dumps(made)
        assert "31415" not in f"{vars(made)}"
    assert not hasattr(fresh, "feature_names_in_")
    assert fitted.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_the_domains_names_are_kept(frame):
    made = Repeating(n_clusters=1, policy=POLICY, epsilon="1").fit(frame(["a", "b"]))
    assert made.feature_names_in_.dtype == object
    assert made.feature_names_in_.tolist() == ["a", "b"]
    assert made.predict(frame(["a", "b"])).tolist() == [0] * 99
    made.fit(np.zeros((99, 2)))
    assert not hasattr(made, "feature_names_in_")


def test_names_that_are_not_text_count_as_none():
    made = Repeating(n_clusters=1, policy=POLICY, epsilon="1").fit(pd.DataFrame(np.zeros((99, 2))))
    assert not hasattr(made, "feature_names_in_")
    for odd in ([3.1415, 2.7], [31415, "a"]):
        table = pd.DataFrame(np.zeros((99, 2)), columns=odd)
        try:
            made.fit(table)
        except bp.DataError as error:
            assert "string names" in str(error)
            assert "31415" not in str(error)
        assert b"1415" not in pickle.dumps(made)


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        (np.zeros((9, 3)), {}, "3 columns"),
        (np.array([[0.0, 0.5]] * 9), {}, "whole numbers"),
        (np.array([[0.0, 500.0]] * 9), {}, "outside the declared"),
        (np.zeros((9, 2)), {"n_clusters": 10}, "at least as many records"),
        (np.zeros((9, 2)), {"n_clusters": 0}, "whole number of at least 1"),
        (np.zeros((9, 2)), {"epsilon": -1}, "must be above 0"),
        (np.zeros((9, 2)), {"policy": None}, "policy is needed"),
        (np.zeros((9, 2)), {"mechanism": "laplace"}, "cannot answer"),
    ],
)
def test_bad_input(table, options, said):
    made = KMeansEstimator(**{"n_clusters": 2, "policy": POLICY, "epsilon": "1", **options})
    with pytest.raises(bp.BlowfishError, match=said):
        made.fit(table)
    assert not hasattr(made, "cluster_centers_")
