import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blowfish_privacy.domain import Categorical, Domain, Integer
from blowfish_privacy.errors import DataError, DomainError
from blowfish_privacy.testing.strategies import domains


@given(domains(), st.data())
def test_encode_and_decode_are_inverse(domain, data):
    numbers = data.draw(st.lists(st.integers(0, domain.size - 1)))
    assert [domain.flat(domain.unflat(number)) for number in numbers] == numbers
    assert domain.encode(domain.decode(np.array(numbers, dtype=np.int64))).tolist() == numbers
    for number in numbers:
        assert domain.cell(domain.record(domain.unflat(number))) == domain.unflat(number)


@given(domains(most_cells=40))
def test_cells_come_in_the_order_of_their_numbers(domain):
    cells = list(domain.cells())
    assert len(set(cells)) == domain.size
    assert [domain.flat(cell) for cell in cells] == list(range(domain.size))
    assert np.ravel_multi_index(np.array(cells).T, domain.shape).tolist() == list(range(domain.size))


def test_a_domain_of_a_million_million_cells_costs_nothing():
    domain = Domain(a=Integer(1, 10**6), b=Integer(1, 10**6))
    assert domain.size == 10**12
    assert domain.encode({"a": np.array([10**6]), "b": np.array([1])}).tolist() == [10**12 - 10**6]
    assert domain.decode([10**12 - 1])["b"].tolist() == [10**6]


def test_domains_too_large_for_64_bits_can_be_declared_but_not_numbered():
    domain = Domain({f"x{i}": Integer(1, 10**6) for i in range(4)})
    assert domain.size == 10**24
    with pytest.raises(DomainError, match="too many cells to number"):
        domain.encode({name: [1] for name in domain})


def test_what_does_not_fit_is_named():
    domain = Domain(age=Integer(17, 90), sex=Categorical(["Female", "Male"]))
    with pytest.raises(DomainError, match="age: 5 is outside"):
        domain.cell({"age": 5, "sex": "Male"})
    with pytest.raises(DomainError, match="did you mean 'Male'"):
        domain.cell({"age": 20, "sex": "male"})
    with pytest.raises(DomainError, match="has no value for sex"):
        domain.cell({"age": 20})
    with pytest.raises(DomainError, match="did you mean 'age'"):
        domain.cell({"agee": 20})
    with pytest.raises(DataError, match="no column sex"):
        domain.encode({"age": [20]})
    with pytest.raises(DataError, match="different lengths"):
        domain.encode({"age": [20, 21], "sex": ["Male"]})
    with pytest.raises(DataError, match=r"^age: the column has values outside"):
        domain.encode({"age": [5], "sex": ["Male"]})
    with pytest.raises(DomainError, match="positions must lie"):
        domain.decode([148])
    with pytest.raises(DomainError, match="twice"):
        domain.project(["age", "age"])


def test_domains_are_values():
    one, other = (Domain(age=Integer(17, 90), sex=Categorical(["F", "M"])) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != one.project(["sex", "age"])
