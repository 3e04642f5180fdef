"""Known facts and forms of a kind that they have never heard of."""

import blowfish_privacy as bp
from blowfish_privacy.queries.query import LinearForm, Query
from registries import forgotten


class OddForm(LinearForm):
    outputs = 2

    def __init__(self, domain):
        self.domain = domain

    def column(self, x):
        return [x[0] % 2, int(x[0] < 4)]

    def worst_edge(self, graph):
        return max(graph.edges(), key=lambda edge: self.change(*edge), default=None), True

    def heaviest(self):
        return (1,)

    def answer(self, counts):
        return self.as_matrix() @ counts.reshape(-1)


def odd():
    class Odd(Query):
        """Counts records at odd values in one output, and all below four in another."""

        keyword = "odd"
        attributes = ("v",)

        def on(self, domain):
            return OddForm(domain)

        def to_file(self, domain):
            return {"odd": "v"}

        @classmethod
        def from_file(cls, entry):
            return cls()

    return Odd()


def test_a_form_that_nobody_knows_has_the_general_spans():
    domain = bp.Domain(v=bp.Integer(0, 6))
    known = [bp.KnownCount(where={"v": (0, 2)})]
    same = bp.Linear([[v % 2 for v in range(7)], [int(v < 4) for v in range(7)]], attributes=["v"])
    with forgotten():
        asked = odd()
    for secrets in (bp.FullDomain(), bp.DistanceThreshold(2)):
        for compensation in ("anywhere", "secret-moves"):
            policy = bp.Policy(domain, secrets=secrets, known=known, compensation=compensation)
            assert bp.sensitivity(asked, policy).value == bp.sensitivity(same, policy).value
