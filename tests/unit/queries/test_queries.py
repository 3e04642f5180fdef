from fractions import Fraction

import numpy as np
import pytest

import blowfish_privacy as bp

DOMAIN = bp.Domain(age=bp.Integer(-2, 2), sex=bp.Categorical(["F", "M"]), wage=bp.Binned([0, 1, 5]))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: bp.Histogram(), "at least one attribute"),
        (lambda: bp.Histogram("age", "age"), "twice"),
        (lambda: bp.Histogram(5), "name must be text"),
        (lambda: bp.Histogram("agee"), "did you mean 'age'"),
        (lambda: bp.Cumulative("sex"), "no order"),
        (lambda: bp.Cumulative(["age"]), "name must be text"),
        (lambda: bp.Sum("sex"), "numbers to add up"),
        (lambda: bp.Mean("wage"), "numbers to add up"),
        (lambda: bp.Linear([[1]], "age"), "list of names"),
        (lambda: bp.Linear([[1]], []), "list of names"),
        (lambda: bp.Linear([[1, 2]], ["age"]), "must have 5 numbers"),
        (lambda: bp.Linear([], ["age"]), "function or a list of rows"),
        (lambda: bp.Linear(7, ["age"]), "function or a list of rows"),
        (lambda: bp.Linear(lambda age: [1] * (age + 3), ["age"]), "same number of outputs"),
        (lambda: bp.Linear(lambda age: [], ["age"]), "at least one output"),
        (lambda: bp.Linear(lambda age: "x", ["age"]), "finite number"),
        (lambda: bp.Linear(lambda age: float("nan"), ["age"]), "finite number"),
        (lambda: bp.Linear(lambda age: 2**70, ["age"]), "too many digits"),
    ],
)
def test_wrong_queries_are_refused(build, said):
    with pytest.raises(bp.QueryError, match=said):
        build().on(DOMAIN)


def test_answers_are_exact():
    ages = np.array([1, 0, 2, 0, 4])
    assert bp.Histogram("age").on(DOMAIN).answer(ages).tolist() == [1, 0, 2, 0, 4]
    assert bp.Cumulative("age").on(DOMAIN).answer(ages).tolist() == [1, 1, 3, 3, 7]
    assert bp.Sum("age").on(DOMAIN).answer(ages).tolist() == [-2 + 8]
    thirds = bp.Linear(lambda age: [Fraction(age, 3), age > 0], ["age"]).on(DOMAIN)
    assert thirds.unit == Fraction(1, 3)
    assert thirds.answer(ages).tolist() == [6, 12]


def test_sums_do_not_overflow_on_the_way():
    domain = bp.Domain(v=bp.Integer(2**60, 2**60 + 1))
    assert bp.Sum("v").on(domain).answer(np.array([2**40, 0])).tolist() == [2**100]


def test_queries_are_written_and_read_back():
    for query in (bp.Histogram("age", "sex"), bp.Cumulative("age"), bp.Sum("age"), bp.Mean("age")):
        assert type(query).from_file(query.to_file(DOMAIN)) == query
    written = bp.Linear(lambda age, sex: [0.5 * age, sex == "F"], ["age", "sex"]).to_file(DOMAIN)
    again = bp.Linear.from_file(written)
    assert again.to_file(DOMAIN) == written
    assert again.on(DOMAIN).unit == Fraction(1, 2)
