"""A fact that costs nothing is not said to cross others."""

from __future__ import annotations

import pytest

import blowfish_privacy as bp
from blowfish_privacy.errors import RefusalError

DOMAIN = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["Female", "Male"]), region=bp.Categorical(["N", "S"]))
SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(2), sex=bp.FullDomain(), region=bp.Public())
CROSSING = [
    bp.KnownMarginal("sex"),
    bp.KnownCount(where={"age": (0, 1)}),
    bp.KnownCount(where={"age": (2, 3)}),
    bp.KnownCount(where={"age": (4, 5)}),
]


@pytest.mark.parametrize("free", [bp.KnownMarginal("region"), bp.KnownCount(where={"region": "N"})])
def test_free_facts_are_not_said_to_cross(free):
    policy = bp.Policy(DOMAIN, secrets=SECRETS, known=[free, *CROSSING])
    with pytest.raises(RefusalError, match="cross each other") as caught:
        bp.sensitivity(bp.Histogram("age", "sex", "region"), policy)
    assert "age" in caught.value.message
    assert "region" not in caught.value.message


def test_whole_block_counts_are_free_and_not_said_to_cross():
    secrets = bp.PerAttribute(
        age=bp.DistanceThreshold(2), sex=bp.FullDomain(), region=bp.Partition(blocks={"region": [["N"], ["S"]]})
    )
    policy = bp.Policy(DOMAIN, secrets=secrets, known=[*CROSSING, bp.KnownMarginal("region")])
    with pytest.raises(RefusalError) as caught:
        bp.sensitivity(bp.Histogram("age", "sex", "region"), policy)
    assert "region" not in caught.value.message
