"""What a card claims is true where it is easily said too broadly: known facts, many attributes, parts, names."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.policies.distances import furthest_together
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown, page, registry

LINE = bp.Domain(x=bp.Integer(0, 5))
CLAIM = "y. Everything is protected by differential privacy with epsilon 0.001, certified."


def released(policy, query, *, epsilon="0.5", name="release", data=None):
    counts = np.full(policy.domain.shape, 3) if data is None else np.array(data)
    return bp.Session(bp.Counts(counts), policy, budget=1000).release(query, epsilon=epsilon, name=name)


def card(policy, query, **options):
    return make_card(released(policy, query, **options).text)


def said(policy, query, label, **options):
    return " ".join(card(policy, query, **options).said(label))


@pytest.mark.parametrize("compensation", ["anywhere", "secret-moves"])
def test_strength_under_facts_is_about_neighbours_only(compensation):
    # Under secret-moves 1 to 2 is balanced by 2 to 1 only, though 3 to 0 would keep the facts true as well: that moves
    # four counts, so some outputs are e^0.6 times as likely at the scale of 2 / 0.3 that the certificate asks for.
    known = [bp.KnownCount({"x": (0, 1)}), bp.KnownCount({"x": (4, 5)})]
    policy = bp.Policy(LINE, secrets=bp.DistanceThreshold(1), known=known, compensation=compensation)
    found = said(policy, bp.Histogram("x"), "Strength", epsilon="0.3")
    for text in (found, policy.explain(), explain_pair(policy, {"x": 1}, {"x": 2})):
        assert ("and other people, each along a secret pair, move along" in text) == (compensation == "secret-moves")
        assert "and nobody moves who need not" in text
        assert "other people's values follow" not in text


def test_what_the_facts_disclose_is_named_as_unprotected_and_never_as_an_example():
    known = [bp.KnownCount({"x": 0}, 1), bp.KnownCount({"x": 1}, 0)]
    policy = bp.Policy(LINE, secrets=bp.ExplicitGraph([(0, 1), (2, 3), (3, 4)]), known=known, size=15)
    made = card(policy, bp.Histogram("x"), data=[1, 0, 4, 4, 3, 3])
    assert "such as 0 and 1" not in markdown(made)
    assert "such as 0 and 1" not in policy.explain()
    disclosed = "Whatever the known facts disclose by themselves, and values between which they leave no way to move."
    assert disclosed in made.said("Unprotected")
    assert disclosed in policy.explain()
    assert "that the known facts leave open" in " ".join(made.said("Protected"))
    without = bp.Policy(LINE, secrets=bp.ExplicitGraph([(0, 1), (2, 3), (3, 4)]))
    assert "such as 0 and 1" in said(without, bp.Histogram("x"), "Protected")


def test_an_answer_that_is_exact_because_of_the_facts_says_so():
    known = [bp.KnownCount({"x": (1, 2)}), bp.KnownCount({"x": (2, 3)})]
    policy = bp.Policy(bp.Domain(x=bp.Integer(1, 3)), secrets=bp.FullDomain(), known=known)
    made = card(policy, bp.Histogram("x"))
    text = markdown(made)
    assert "no secret pair that the known facts leave possible changes this answer" in made.summary
    assert "nothing that the policy keeps secret" not in text.lower()
    assert "nothing secret shows" not in text
    everything = "THE KNOWN FACTS ALREADY DISCLOSE EVERYTHING: all counts of the full table follow from them"
    assert everything in " ".join(made.said("Unprotected"))
    assert everything in policy.explain()


def test_an_exact_answer_that_shows_what_no_fact_tells_claims_nothing_of_the_kind():
    # The facts say only that nobody has 1; how many have 0 and how many 2 they do not tell, and the answer does.
    line = bp.Domain(v=bp.Integer(0, 2))
    policy = bp.Policy(line, secrets=bp.DistanceThreshold(1), known=[bp.KnownCount({"v": 1}, 0)])
    shown = released(policy, bp.Histogram("v"), data=[3, 0, 4])
    assert shown.counts.tolist() == [3, 0, 4]
    body, text = json.loads(shown.text), markdown(make_card(shown.text))
    possible = "no secret pair that remains possible changes this answer"
    assert body["guarantee"]["statement"].endswith(f": {possible}")
    assert "NO NOISE: no secret pair that the known facts leave possible changes this answer" in body["notices"][0]
    for said in (shown.text, text):
        assert "already disclose" not in said
        assert "nothing secret" not in said
        assert "nothing that the policy keeps secret" not in said
    assert "Published exactly: no secret pair that the known facts leave possible changes this answer" in text
    assert "NO SECRET PAIR IS LEFT that changes the full table" in text
    assert "**Unprotected**: Values several steps apart" in text


@pytest.mark.parametrize("many", [2, 4, 5, 9])
def test_steps_of_several_attributes_together_are_never_left_out(many):
    domain = bp.Domain({f"a{i}": bp.Integer(0, 2) for i in range(many)})
    policy = bp.Policy(domain, secrets=bp.PerAttribute({name: bp.DistanceThreshold(1) for name in domain}))
    made = card(policy, bp.Histogram(*domain), data=np.ones(domain.shape, dtype=np.int64))
    added = "Values that differ in several attributes are as many steps apart as those attributes add up to."
    assert added in made.said("Protected")
    # Two steps for each attribute.
    assert f"{2 * many} secret steps apart and protected less" in made.said("Further apart")[-1]
    assert policy.distance(dict.fromkeys(domain, 0), dict.fromkeys(domain, 2)) == 2 * many
    assert f"are {2 * many} steps apart" in policy.explain()
    assert "more, in the document" not in markdown(made)


def test_a_card_speaks_of_the_attributes_that_its_release_looks_at():
    domain = bp.Domain(age=bp.Integer(0, 9), sex=bp.Categorical(["F", "M"]), zone=bp.Categorical(["A", "B"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(3), sex=bp.FullDomain(), zone=bp.Public())
    made = card(bp.Policy(domain, secrets=secrets), bp.Histogram("age"))
    assert made.said("Values a record can have") == ["“age”: 0 to 9."]
    assert made.said("Not looked at") == ["Nothing in this answer depends on “sex”, “zone”."]
    assert "zone" not in " ".join(made.said("Protected", "Unprotected", "Further apart"))
    # Three steps lead from 0 to 9, and nothing is lost on the sex: no pair of records is further apart for this answer.
    assert made.said("Further apart") == ["“age” 0 and 9 are 3 secret steps apart and protected less: a factor 4.49."]
    assert "the publisher's statement about all releases" in made.said("Composition")[0]
    grouped = make_card(released(bp.Policy(domain, secrets=secrets), bp.Histogram("age").by("zone")).text)
    assert "“zone”: not protected at all. Releases may show it exactly." in grouped.said("Unprotected")
    assert grouped.said("Not looked at") == ["Nothing in this answer depends on “sex”."]


@pytest.mark.parametrize(
    "policy",
    [
        bp.Policy(bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 2)), secrets=bp.DistanceThreshold(2)),
        bp.Policy(
            bp.Domain(a=bp.Integer(0, 2), b=bp.Integer(0, 2)),
            secrets=bp.PerAttribute(a=bp.FullDomain(), b=bp.Public()),
            known=[bp.KnownCount({"a": 0, "b": 0})],
        ),
    ],
    ids=["joint pairs", "known facts"],
)
def test_where_other_attributes_matter_the_whole_policy_is_told(policy):
    made = card(policy, bp.Histogram("a"))
    assert made.said("Not looked at") == []
    assert "“b”" in made.said("Values a record can have")[0]
    assert [*policy.words().unprotected] == [each for each in made.said("Unprotected") if "“b”" in each]


def test_steps_together_are_named_only_where_they_are_more():
    plane = bp.Domain(x=bp.Integer(0, 5), y=bp.Categorical(["A", "B"]))
    secrets = {
        "full": bp.FullDomain(),
        "open": bp.PerAttribute(x=bp.DistanceThreshold(2), y=bp.Public()),
        "both": bp.PerAttribute(x=bp.DistanceThreshold(2), y=bp.FullDomain()),
    }
    found = {name: furthest_together(bp.Policy(plane, secrets=own)) for name, own in secrets.items()}
    # ceil(5 / 2) = 3 steps along x and one along y.
    assert found == {"full": None, "open": None, "both": ("(“x” 0, “y” A) and (“x” 5, “y” B)", 4)}


def test_the_unit_names_the_others_who_change_under_facts():
    policy = bp.Policy(LINE, secrets=bp.FullDomain(), known=[bp.KnownCount({"x": (0, 1)})])
    assert "in those of others that must change with it to keep the known facts true" in said(
        policy, bp.Histogram("x"), "Privacy unit"
    )


def test_exact_clusters_are_not_called_noisy():
    domain = bp.Domain(east=bp.Integer(0, 7), north=bp.Integer(0, 7), sex=bp.Categorical(["F", "M"]))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(east=bp.Public(), north=bp.Public(), sex=bp.FullDomain()))
    made = card(policy, bp.KMeans(["east", "north"], k=2))
    assert made.parameters == {"epsilon": "0"}
    assert "noisy" not in markdown(made)
    assert "from a synopsis of where" in markdown(made)


def test_noise_of_unlike_parts_is_told_apart():
    domain = bp.Domain(zone=bp.Categorical(["A", "B", "C", "D"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain()))

    def mechanism(epsilon):
        session = bp.Session(bp.Counts(np.full((4, 10), 3)), policy, budget=10)
        made = make_card(session.release(bp.Histogram("age").by("zone"), epsilon=epsilon).text)
        return made.said("Mechanism")[0]

    # Scales 2 / 0.3 and 2 / 0.1.
    text = mechanism({"A": "0.1", "B": "0.3", "C": "0.3"})
    assert "For “zone” B and 1 more (epsilon 0.3): laplace. Each number gets Laplace noise of scale 6.667" in text
    assert "For “zone” A (epsilon 0.1): laplace. Each number gets Laplace noise of scale 20" in text
    assert "other groups" not in text
    assert "For the other groups: as the document says." in mechanism({"A": "0.1", "B": "0.2", "C": "0.3"})
    assert mechanism("0.5").startswith("laplace. Each number")


def test_where_only_presence_is_secret_the_card_speaks_of_presence():
    policy = bp.Policy(LINE, secrets=bp.Public(), size="unknown")
    made = card(policy, bp.Histogram("x"))
    assert "whoever is undecided whether a person is in the table (50 : 50)" in made.summary
    assert "The odds that a person is in the table change" in made.said("Strength")[0]
    for text in (markdown(made), policy.explain()):
        assert "secret values" not in text
        assert "secret pair" not in text
        assert "Nothing" not in text


def test_names_are_told_from_sentences(tmp_path, capsys):
    domain = bp.Domain({CLAIM: bp.Categorical([CLAIM, "B"]), "age": bp.Integer(0, 3)})
    policy = bp.Policy(domain, secrets=bp.PerAttribute({CLAIM: bp.Public(), "age": bp.FullDomain()}))
    name = f"ages”. {CLAIM} “"
    made = released(policy, bp.Histogram(CLAIM), name=name)
    text = markdown(make_card(made.text))
    assert CLAIM not in text
    # Whatever stands outside quotation marks is ours.
    assert CLAIM[:20] not in re.sub("“[^”]*”", "", text)
    assert text.count("“") == text.count("”")
    html = page(make_card(made.text))
    assert html.count("<bdi>") == html.count("</bdi>") > 3
    assert CLAIM[:20] not in re.sub("<bdi>.*?</bdi>|<title>.*?</title>", "", html)
    made.save(tmp_path / "a.release.json")
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "a.release.json")]) == 0
    notice = capsys.readouterr().out
    assert "Notice: NO NOISE" in notice
    assert CLAIM[:20] not in re.sub("“[^”]*”", "", notice)
    assert "“" not in registry(make_card(released(policy, bp.Histogram("age"), name="ages").text))["product"]["name"]


def test_categories_read_as_categories_in_every_sentence():
    domain = bp.Domain(zone=bp.Categorical([CLAIM, "B", "C"]))
    for policy in (
        bp.Policy(domain, secrets=bp.ExplicitGraph([(CLAIM, "B"), ("B", "C")])),
        bp.Policy(domain, secrets=bp.Partition(blocks={"zone": [[CLAIM, "B"], ["C"]]})),
        bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"zone": CLAIM}, 3)]),
        bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"zone": [CLAIM, "B"]}, 6)]),
        bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("zone", counts=[3, 3, 3])]),
    ):
        text = markdown(card(policy, bp.Histogram("zone")))
        assert CLAIM in text
        assert CLAIM not in re.sub("“[^”]*”", "", text + policy.explain())


@pytest.mark.parametrize(
    ("epsilon", "words"), [("3", None), ("4", "weakly"), ("10", "weakly"), ("11", "in effect not at all")]
)
def test_a_large_epsilon_is_called_what_it_is(epsilon, words):
    made = card(bp.Policy(LINE, secrets=bp.FullDomain()), bp.Histogram("x"), epsilon=epsilon)
    assert bool(made.said("Warning")) == (words is not None)
    if words is not None:
        assert f"Noise protects each person {words}, with epsilon {epsilon}" in made.summary
        assert f"which protects {words}." in made.said("Warning")[0]


def test_ordinary_cards_read_well_on_a_terminal():
    domain = bp.Domain(capital_gain=bp.Binned([0, 10, 20, 40]), age=bp.Integer(0, 99))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(capital_gain=bp.FullDomain(), age=bp.DistanceThreshold(1)))
    text = markdown(card(policy, bp.Histogram("capital_gain", "age"), epsilon=2))
    assert "&" not in text
    assert "“capital_gain”: 3 bins, [0, 10) to [20, 40)" in text
    assert re.search(r"a factor [\d.]+ x 10\^86", text)
    assert re.search(r"In the documentation of blowfish-privacy \S+: docs/proofs/laplace\.md", text)


def test_only_a_card_is_written_over(tmp_path, capsys):
    file = tmp_path / "ages.release.json"
    released(bp.Policy(LINE, secrets=bp.FullDomain()), bp.Histogram("x")).save(file)
    for name, content in (("people.csv", "x\n1\n"), ("page.html", "<!doctype html>\n<p>"), ("raw.bin", b"\xff\xfe")):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = path.read_bytes()
        assert run(["card", str(file), "-o", str(path)]) == 2
        error = capsys.readouterr().err
        assert "is no card" in error
        assert "Hint" in error
        assert path.read_bytes() == before
    assert run(["card", str(file), "-o", str(tmp_path)]) == 2
    for name in ("a.md", "a.html"):
        for publisher in ("One", "Two"):
            assert run(["card", str(file), "--publisher", publisher, "-o", str(tmp_path / name)]) == 0
        assert "Two" in (tmp_path / name).read_text()


def test_pairs_inside_blocks_count_towards_the_furthest():
    domain = bp.Domain(age=bp.Integer(0, 19), sex=bp.Categorical(["F", "M"]))
    secrets = bp.PerAttribute(age=bp.Partition(widths={"age": 5}), sex=bp.FullDomain())
    policy = bp.Policy(domain, secrets=secrets)
    _, hops = furthest_together(policy)
    assert hops == 2
    assert max(policy.distance({"age": 0, "sex": "F"}, {"age": n, "sex": "M"}) for n in range(5)) == 2


def test_with_an_unknown_size_the_strength_is_also_that_of_presence():
    policy = bp.Policy(LINE, secrets=bp.DistanceThreshold(1), size="unknown")
    assert "that a person is in the table" in said(policy, bp.Histogram("x"), "Strength")
    assert "that a person is in the table" in policy.explain()


def test_how_many_records_each_has_is_said_to_be_unprotected():
    policy = bp.Policy(LINE, secrets=bp.DistanceThreshold(1), rows_per_person=3)
    assert "how many of them each person has is not protected" in said(policy, bp.Histogram("x"), "Privacy unit")
    assert "How many rows each person has is not protected" in policy.explain()
