"""What could not be read back is refused before it is charged, and names mean one thing."""

import pytest

import blowfish_privacy as bp
from blowfish_privacy.graphs import FullDomain

COUNTS = bp.Counts([1] * 10)
DOMAIN = bp.Domain(a=bp.Integer(0, 9))


@pytest.mark.parametrize(
    "secrets",
    [
        bp.Partition(widths={"a": 5}, blocks={}),
        bp.Partition(widths={}),
        bp.Partition(blocks={"a": ((0, 4), (5, 9))}),
        bp.Partition(blocks=((0, 4), (5, 9))),
    ],
    ids=repr,
)
def test_partitions_read_back(secrets):
    session = bp.Session(COUNTS, bp.Policy(DOMAIN, secrets=secrets), budget=1)
    assert len(session.release(bp.Histogram("a"), epsilon=1).values) == 10
    assert session.ledger.verify().ok


def test_a_query_that_a_document_could_not_hold_costs_nothing():
    class Forgetful(bp.Histogram):
        keyword = "forgetful"

        def to_file(self, domain):
            return {"forgetful": ["a"], "further": 1}

    session = bp.Session(COUNTS, bp.Policy(DOMAIN, secrets=FullDomain()), budget=1)
    try:
        with pytest.raises(bp.SpecError, match="could not be read back.*Nothing was charged"):
            session.release(Forgetful("a"), epsilon=1)
    finally:
        del type(bp.Histogram("a")).kinds["forgetful"]
    assert session.remaining == 1


def test_secrets_without_a_hash_of_their_own_are_released_and_explained():
    class Unhashable(FullDomain):
        keyword = "unhashable"
        __hash__ = None

        def to_file(self):
            return "full"

    try:
        policy = bp.Policy(DOMAIN, secrets=Unhashable())
        assert "Every two values" in policy.explain()
        assert len(bp.Session(COUNTS, policy, budget=1).release(bp.Histogram("a"), epsilon=1).values) == 10
    finally:
        del FullDomain.kinds["unhashable"]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(bp.SpecError, match="cannot be called 'full'"):

        class Mine(FullDomain):
            keyword = "full"

    assert FullDomain.kinds["full"] is FullDomain


def test_what_is_no_text_is_no_release_document(tmp_path):
    (tmp_path / "t.ledger").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(bp.SpecError, match=r"not text\. Hint: give a release document: name\.release\.json\."):
        bp.load(tmp_path / "t.ledger")
