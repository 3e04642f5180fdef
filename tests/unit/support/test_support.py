"""Small matrices are arrays and large ones sparse: what is done with them gives the same either way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from multiprocessing import active_children
from operator import mul
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy.mechanisms
import blowfish_privacy.results
from blowfish_privacy.errors import DataError, PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.mechanisms.mechanism import REGISTRY
from blowfish_privacy.results import Result
from blowfish_privacy.support import arrays
from blowfish_privacy.support.exact import (
    about,
    exact,
    measured,
    positive,
    readable,
    rounded,
    rounded_down,
    rounded_up,
    show,
    stated_amount,
    with_error,
)
from blowfish_privacy.support.progress import finished


@pytest.fixture(params=["sparse", "dense"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """Hold matrices one way, and say which."""
    if request.param == "sparse":
        monkeypatch.setattr(arrays, "is_small", lambda shape: False)
    return np.ndarray if request.param == "dense" else object


def random(rows: int, columns: int) -> tuple[Any, np.ndarray[Any, Any]]:
    dice = np.random.default_rng(rows * 100 + columns)
    places = dice.integers(0, rows, 40), dice.integers(0, columns, 40)
    values = dice.normal(size=40)
    wanted = np.zeros((rows, columns))
    np.add.at(wanted, places, values)
    return arrays.matrix(values, *places, (rows, columns)), wanted


def test_entries_at_the_same_place_are_added_up(held: type) -> None:
    made, wanted = random(5, 7)
    assert isinstance(made, held)
    assert isinstance(made, np.ndarray) == (held is np.ndarray)
    np.testing.assert_allclose(arrays.dense(made), wanted, atol=1e-15)
    np.testing.assert_allclose(arrays.dense(arrays.turned(made)), wanted.T, atol=1e-15)
    rows, columns, values = arrays.entries(made)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [*zip(*np.nonzero(wanted), strict=True)]
    np.testing.assert_allclose(values, wanted[rows, columns])
    np.testing.assert_allclose(arrays.at(made, columns % 5, rows), wanted[columns % 5, rows], atol=1e-15)


def test_matrices_below_each_other_and_along_the_diagonal(held: type) -> None:
    (first, one), (second, two) = random(5, 7), random(3, 7)
    np.testing.assert_allclose(arrays.dense(arrays.stacked([first, second])), np.vstack([one, two]), atol=1e-15)
    wanted = np.zeros((8, 14))
    wanted[:5, :7], wanted[5:, 7:] = one, two
    np.testing.assert_allclose(arrays.dense(arrays.blocks([first, second])), wanted, atol=1e-15)
    main = np.arange(1.0, 5.0)
    near = np.diag(main) + np.diag([-0.5] * 3, 1) + np.diag([-0.5] * 3, -1)
    np.testing.assert_array_equal(arrays.dense(arrays.diagonal(main, beside=-0.5)), near)
    np.testing.assert_array_equal(arrays.dense(arrays.diagonal(main)), np.diag(main))
    np.testing.assert_array_equal(arrays.dense(arrays.compact(wanted)), wanted)


def test_a_column_is_the_same_alone_and_among_others(held: type) -> None:
    made, wanted = random(19, 23)
    columns = np.random.default_rng(1).normal(size=(23, 50))
    found = arrays.times(made, columns)
    np.testing.assert_allclose(found, wanted @ columns, atol=1e-12)
    for place in range(50):
        assert found[:, place].tolist() == arrays.times(made, columns[:, [place]])[:, 0].tolist()
        assert found[:, place].tolist() == arrays.times(made, np.ascontiguousarray(columns[:, place])).tolist()


@pytest.mark.parametrize("size", [1, 20, arrays.FEW, arrays.FEW + 1])
def test_equations_are_solved(size: int) -> None:
    dice = np.random.default_rng(size)
    root = dice.normal(size=(size, size))
    system, right = root @ root.T + np.eye(size), dice.normal(size=(size, 3))
    solve = arrays.solver(system)
    np.testing.assert_allclose(system @ solve(right), right, atol=1e-9)
    np.testing.assert_allclose(solve(right[:, 0]), solve(right)[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5, Fraction(5)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (1e-5, Fraction(1, 100_000)),
        ("1e3", Fraction(1000)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
    ],
)
def test_numbers_are_taken_as_written(written, meant):
    assert exact(written, "x", error=PolicyError) == meant


@pytest.mark.parametrize(
    "nonsense",
    [
        True,
        None,
        "",
        "abc",
        "nan",
        float("nan"),
        float("inf"),
        "1/0",
        "1e999999999",
        "9" * 10_000,
        [],
        "٣",
        Decimal("NaN"),
        1j,
    ],
)
def test_what_is_no_finite_number_is_refused_with_a_hint(nonsense):
    with pytest.raises(PolicyError, match=r"epsilon must be a finite number.*Hint"):
        exact(nonsense, "epsilon", error=PolicyError)


def test_positive_refuses_zero_and_below():
    assert positive("0.5", "theta", error=PolicyError) == Fraction(1, 2)
    for value in (0, -1, "-0.1"):
        with pytest.raises(PolicyError, match="above 0"):
            positive(value, "theta", error=PolicyError)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Fraction(5), "5"), (Fraction(1, 20), "0.05"), (Fraction(-7, 2), "-3.5"), (Fraction(1, 3), "1/3")],
)
def test_numbers_are_shown_the_way_a_person_writes_them(number, shown):
    assert show(number) == shown
    assert Fraction(shown) == number


@pytest.mark.parametrize(
    ("text", "message"),
    [("1e400", "epsilon is too large: more than 10"), ("1e-300", "epsilon is too small: less than 10")],
)
def test_amounts_that_nobody_means_are_refused(text, message):
    with pytest.raises(QueryError, match=message):
        stated_amount(text, "epsilon", error=QueryError)
    assert stated_amount("1e15", "epsilon", error=QueryError) == 10**15
    assert stated_amount("1e-15", "epsilon", error=QueryError) == Fraction(1, 10**15)


def test_no_number_for_a_reader_is_long():
    assert (readable(Fraction(1, 3)), readable(Fraction("0.25"))) == ("1/3", "0.25")
    assert readable(Fraction("0.25" + "0" * 300 + "1")) == "0.2501"
    assert (readable(Fraction(1234, 7)), readable(Fraction(6, 12345))) == ("176.3", "0.0004861")
    said = {14_142_136: "14,100,000", 1335: "1,340", 999.7: "1,000", 999.4: "999", 0.012345: "0.0123", 8.0: "8"}
    assert {number: about(number) for number in said} == said
    assert [about(number) for number in (1e15, 1e300, float("inf"), 1e-300)] == [*["more than 10^15"] * 3, "1e-300"]


AMOUNTS = st.fractions(min_value=0, max_value=10**16) | st.fractions(0, 1).map(lambda number: number / 10**9)


def read(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@given(AMOUNTS | AMOUNTS.map(lambda number: -number))
def test_a_loss_is_never_understated_and_what_is_left_never_overstated(number):
    below, near, above = (read(write(number)) for write in (rounded_down, rounded, rounded_up))
    assert below <= number <= above
    assert near in (below, above)
    assert abs(near - number) <= (above - below) / 2
    # Four significant digits, and whole numbers in full.
    assert above - below <= abs(number) / 999
    assert (above - below) * 2 <= max(1, abs(number) / 400)
    if number.denominator == 1 and abs(number) < 10**15:
        assert below == above


@given(AMOUNTS)
def test_what_is_rounded_stays_as_it_is(number):
    for write in (rounded_down, rounded, rounded_up):
        text = write(number)
        assert write(read(text)) == text
        assert len(text.replace(",", "")) <= 15


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("0.3", "0.3"),
        ("1/3", "0.3334"),
        ("943/5000", "0.1886"),
        ("0.7982475", "0.7983"),
        ("99999/100000", "1"),
        ("12345.6", "12,346"),
        ("0.0000000012345", "1.235e-9"),
        ("0.000000099999", "1e-7"),
        ("1e-15", "1e-15"),
        ("0", "0"),
    ],
)
def test_amounts_that_are_lost(number, shown):
    assert rounded_up(Fraction(number)) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_an_estimate_has_the_digits_that_its_error_leaves(value, error):
    shown, unit = read(measured(value, error)), Fraction(10) ** -_decimals(error)
    assert shown % unit == 0
    # Half a unit of the last digit, but for the rounding of floating point.
    assert abs(shown - Fraction(value)) <= unit / 2 + Fraction(abs(value)) / 2**50
    assert Fraction(error) / 105 <= unit <= Fraction(error) * Fraction(20, 19)
    assert measured(float(shown), error) == measured(value, error)


def _decimals(error: float) -> int:
    digits, _, power = f"{error:.1e}".partition("e")
    return -int(power) + (not digits.endswith(".0"))


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (40.411633430244464, 0.0999, "40.4 ± 0.1"),
        (40.411633430244464, 0.14, "40.41 ± 0.14"),
        (187.2027, 9.387, "187.2 ± 9.4"),
        (1_123_456.0, 5_234.0, "1,123,500 ± 5,200"),
        (-0.001, 0.1, "0.0 ± 0.1"),
        (4510, 0.0, "4,510"),
        (5.25, 0.0, "5.25"),
    ],
)
def test_an_estimate_with_its_error(value, error, shown):
    assert with_error(value, error) == shown


# Tasks in several processes: all of them, or those that finished before an interruption.


def test_all_tasks_are_worked_off():
    with closing(finished(mul, [(number, 2) for number in range(20)], 2)) as results:
        assert dict(results) == {(number, 2): 2 * number for number in range(20)}


def test_an_error_ends_the_others_at_once():
    start, before = monotonic(), len(active_children())
    with (
        pytest.raises(ValueError, match="non-negative"),
        closing(finished(sleep, [(-1,), (30,), (31,), (32,)], 2)) as results,
    ):
        list(results)
    assert monotonic() - start < 15
    assert len(active_children()) == before


def test_a_worker_that_vanishes_is_an_error_of_ours():
    with pytest.raises(DataError, match="unexpectedly"), closing(finished(os._exit, [(3,)], 1)) as results:
        list(results)


PROGRAM = """
import sys, time
from contextlib import closing
from blowfish_privacy.support.progress import finished

def slow(seconds):
    time.sleep(seconds)
    return seconds

if __name__ == "__main__":
    try:
        with closing(finished(slow, [(0.0,), *((60.0 + n,) for n in range(20))], 2)) as results:
            for task, _ in results:
                print(task[0], flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def started(folder):
    file = folder / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    return subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_an_interruption_of_everybody_ends_at_once_and_quietly(tmp_path):
    running = started(tmp_path)
    assert running.stdout.readline() == "0.0\n"
    os.killpg(running.pid, signal.SIGINT)
    said, complaints = running.communicate(timeout=15)
    assert (said, complaints) == ("stopped\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nobody_is_left_behind_when_the_main_process_is_killed(tmp_path, number):
    running = started(tmp_path)
    assert running.stdout.readline() == "0.0\n"
    os.kill(running.pid, number)
    try:
        # Workers and their server hold the same standard output: it ends when the last of them does.
        said, _ = running.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        pytest.fail("worker processes are still there.")
    assert said == ""
    assert running.returncode == -number


# What is imported on demand is complete and in its place, and commands load no more than they need.


@pytest.mark.parametrize("name", REGISTRY)
def test_a_mechanism_is_at_home_where_it_is_defined_and_under_every_answer_it_gives(name):
    kind = MECHANISMS[name]
    module, defined, answers = REGISTRY[name]
    assert (kind.__module__, kind.__name__) == (f"blowfish_privacy.mechanisms.{module}", defined)
    assert answers == kind.gives


def test_every_mechanism_and_kind_of_result_has_a_home():
    assert not Mechanism.kinds.foreign
    assert not Result.kinds.foreign
    assert all(Result.kinds[name].kind == name for name in Result.kinds)


@pytest.mark.parametrize("package", [blowfish_privacy.mechanisms, blowfish_privacy.results], ids=lambda p: p.__name__)
def test_every_name_of_a_package_is_found_and_others_are_not(package):
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


def test_a_mechanism_of_ours_cannot_be_replaced_before_it_is_loaded():
    program = """
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import Mechanism
try:
    type("Mine", (Mechanism,), {"name": "marginals", "__module__": "elsewhere"})
except SpecError as error:
    print(error.message)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot be called 'marginals'" in run.stdout
    with pytest.raises(SpecError):
        type("Mine", (Mechanism,), {"name": "laplace", "__module__": "elsewhere"})


def test_checking_a_document_loads_neither_engines_nor_mechanisms_nor_searches():
    program = """
import sys
import blowfish_privacy.cli.product
for name in ("duckdb", "sqlglot", "scipy", "networkx", "sklearn", "matplotlib", "rich", "blowfish_privacy.session",
             "blowfish_privacy.mechanisms.independent", "blowfish_privacy.known_facts.theorems"):
    if name in sys.modules:
        print(name)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == ""
