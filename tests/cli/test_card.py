"""The statement about a release: true, complete, safe to publish, and refused when the document does not verify."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from math import exp

import markdown as python_markdown
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.policies.distances import furthest_together
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.privacy.measure import EPSILON, Strength
from blowfish_privacy.release import document, reading
from blowfish_privacy.statements.card import make_card
from blowfish_privacy.statements.card_page import markdown, page, registry
from blowfish_privacy.testing.seeded import SeededSource

HOSTILE = [
    "<script>alert(1)</script>",
    "[a](javascript:alert(1)) ![x](http://evil.example/x.png)",
    '"><img src=x onerror=alert(1)>',
    "a\n# heading\n| table |\n***bold***",
    "`code` _em_ ~~strike~~ $x$ &lt;b&gt; \\",
    "safe\u202eevil\u0007\u2028line",
    'x {: onmouseover="alert(1)" style="position:fixed" }',
    "me@evil.example www.evil.example WWW.evil.example https://evil.example",
    "==mark== ^^up^^ ++new++ :smile: {{ 7 * 7 }} {% x %}",
    "1^2^3 x^2^ a_b _em_ __b__ [x](y) [x] (y) [x][y] [[x]] [x]{.y} 1:100: :1: a:b:c ftp://evil.example",
]

EXTENSIONS = ["extra", "attr_list", *(f"pymdownx.{name}" for name in ("mark", "caret", "tilde", "emoji", "magiclink"))]


def released(policy, query, *, epsilon="0.5", name="release", data=None, **options):
    counts = np.full(policy.domain.shape, 3) if data is None else data
    session = bp.Session(bp.Counts(counts), policy, budget=10, **options)
    return session.release(query, epsilon=epsilon, name=name)


@pytest.fixture
def policy():
    domain = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]))
    return bp.Policy(domain, secrets=bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain()))


def test_the_card_says_what_the_document_proves(policy):
    card = make_card(released(policy, bp.Histogram("age", "sex"), name="ages").text, publisher="The Office")
    text = markdown(card)
    assert card.title == "Privacy statement: “ages”"
    # e^0.5 = 1.6487.., and odds of 1.6487 : 1 are 62.2 in 100; both rounded up, so that "at most" is true.
    assert "at most a factor 1.65" in text
    assert "at most 63 % sure" in text
    # 17 to 90 takes ceil(73 / 5) = 15 steps: e^7.5 = 1808.04..
    assert "“age” 17 and 90 are 15 secret steps apart and protected less: a factor 1,809" in text
    assert "The number of records: 444." in text
    # Noise of scale 4: variance 2 q / (1 - q)^2 with q = e^(-1/4), whose root is 5.642.
    assert "5.64 (root mean squared) for a cell" in text
    assert "Less than differential privacy" in text
    assert "entry 1 of the publisher's ledger" in text
    assert re.search(r"The Office \(20\d\d\)\. “ages”\. \(0\.5, [0-9a-f]{12}\)-Blowfish", text)


@settings(deadline=None)
@given(st.fractions(Fraction(1, 1000), 15), st.integers(1, 3))
def test_stated_odds_and_certainty_are_never_below_the_true_ones(epsilon, hops):
    strength = Strength(EPSILON, epsilon)
    stated = strength.factor(hops)
    exponent = hops * float(epsilon)
    digits, _, power = stated.rpartition("10^") if "^" in stated else (stated, "", "0")
    worth = float(digits.replace(",", "").removesuffix(" x ") or 1) * 10.0 ** int(power)
    assert worth >= exp(exponent) * (1 - 1e-9)
    assert worth <= exp(exponent) * 1.15
    assert 100 * exp(float(epsilon)) / (1 + exp(float(epsilon))) <= int(strength.certainty) + 1e-9


def test_what_is_exact_public_or_assumed_is_named():
    domain = bp.Domain(zone=bp.Categorical(["A", "B"]), age=bp.Integer(0, 9))
    open_zone = bp.Policy(domain, secrets=bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain()))
    exact = markdown(make_card(released(open_zone, bp.Histogram("zone")).text))
    assert "Published exactly" in exact.split("##")[0]
    assert "No noise" in exact
    assert "**Mechanism**: None: the numbers are the exact ones." in exact
    assert "**Randomness**: None" in exact
    assert "integer noise" not in exact
    assert "“zone”: not protected at all" in exact

    known = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownMarginal("zone", counts=[30, 30])])
    facts = markdown(make_card(released(known, bp.Histogram("age")).text))
    assert "Known fact: how many records have each “zone” (“zone” A: 30, “zone” B: 30)." in facts
    assert "stay true" in facts
    assert "every other record" not in facts
    assert "No statement is made on values several secret steps apart" not in facts
    secrets = bp.PerAttribute(zone=bp.FullDomain(), age=bp.DistanceThreshold(1))
    near = bp.Policy(domain, secrets=secrets, known=[bp.KnownCount({"age": (0, 4)})])
    facts = markdown(make_card(released(near, bp.Histogram("age")).text))
    assert "No statement is made on values several secret steps apart" in facts

    absent = bp.Policy(domain, secrets=bp.FullDomain(), size="unknown", rows_per_person=3)
    unknown = markdown(make_card(released(absent, bp.Histogram("age")).text))
    assert "the number of records is secret too" in unknown
    assert "up to 3 records together" in unknown
    assert "knows all other people's records" in unknown
    assert "every other record" not in unknown
    assert "of bounded differential privacy (a person's values change) and of unbounded differential" in unknown
    assert not re.search(r"number of records: \d", unknown)

    plain = make_card(released(bp.Policy(domain, secrets=bp.FullDomain()), bp.Histogram("age")).text)
    assert plain.differential_privacy
    assert "here it is bounded differential privacy." in markdown(plain)
    several = bp.Policy(domain, secrets=bp.FullDomain(), rows_per_person=3)
    assert "privacy of the values of up to 3 records, not of how many a person has." in markdown(
        make_card(released(several, bp.Histogram("age")).text)
    )
    assert "comes or goes" not in markdown(plain)
    assert "Less than differential privacy" not in markdown(plain)


def test_the_ledger_names_no_mechanism_for_exact_numbers():
    domain = bp.Domain(zone=bp.Categorical(["A", "B"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain()))
    session = bp.Session(bp.Counts(np.full((2, 10), 3)), policy, budget=1)
    session.release(bp.Histogram("zone"), epsilon="0.5")
    session.release(bp.Histogram("age"), epsilon="0.5")
    assert [entry.mechanism for entry in session.ledger.entries()] == ["none (exact)", "laplace"]


def test_secret_moves_are_said_to_be_weaker():
    domain = bp.Domain(age=bp.Integer(0, 9))
    known = [bp.KnownCount({"age": (0, 4)}, 15)]
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(1), known=known, compensation="secret-moves")
    assert "Weaker than usual" in markdown(make_card(released(policy, bp.Histogram("age")).text))


def test_a_parallel_release_is_one_statement_of_its_costliest_part():
    domain = bp.Domain(zone=bp.Categorical(["A", "B"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain()))
    session = bp.Session(bp.Counts(np.full((2, 10), 3)), policy, budget=1)
    both = session.release(bp.Histogram("age").by("zone"), epsilon={"A": "0.25", "B": "0.5"}, name="by zone")
    card = make_card(both.text)
    assert card.parameters == {"epsilon": "0.5"}
    text = markdown(card)
    assert "for each “zone” (10 numbers in each of 2 groups)" in text
    assert "what the costliest does, epsilon 0.5, not the sum" in text
    assert "The number of records of each “zone”." in text
    # Scales 2 / 0.25 = 8 and 2 / 0.5 = 4: roots of their variances 11.3 and 5.64.
    assert "11.3 (root mean squared) for a cell in the least accurate group, 5.64 in the most accurate" in text


def test_clusters_have_a_card_too():
    domain = bp.Domain(east=bp.Integer(0, 15), north=bp.Integer(0, 15))
    policy = bp.Policy(domain, secrets=bp.DistanceThreshold(2))
    text = markdown(make_card(released(policy, bp.KMeans(["east", "north"], k=2)).text))
    assert "The centres of 2 clusters of “east” and “north”, from a noisy synopsis" in text
    assert "for a cell of the" in text
    assert re.search(r"moves the counts, added up, (at worst by|by no more than) [0-9.]+ records", text)
    session = bp.Session(bp.Counts(np.full((16, 16), 30)), policy, budget=1)
    rounds = session.release(bp.KMeans(["east", "north"], k=3), epsilon=1, mechanism="lloyd")
    text = markdown(make_card(rounds.text))
    assert "The centres of 3 clusters of “east” and “north”, from the noisy sizes and means of clusters" in text
    assert "synopsis" not in text
    assert "positions (" in text


def test_large_losses_are_warned_of_and_pairs_are_only_as_secret_as_epsilon_says(policy):
    text = markdown(make_card(released(policy, bp.Histogram("age"), epsilon=3).text))
    assert "Warning" not in text
    assert "told apart" not in text
    assert "hidden as strongly as Strength says" in text
    assert "Warning" in markdown(make_card(released(policy, bp.Histogram("age"), epsilon=4).text))


def test_exact_block_totals_are_named():
    blocks = bp.Policy(bp.Domain(age=bp.Integer(0, 63)), secrets=bp.Partition(widths={"age": 8}))
    text = markdown(make_card(released(blocks, bp.Cumulative("age")).text))
    assert "In this release, exactly: how many records are in each of the 8 stretches of “age”" in text
    text = markdown(make_card(released(blocks, bp.Histogram("age")).text))
    assert "In this release, exactly: how many records are in each of the 8 blocks of “age”" in text
    assert "Whole counts (“consistent”) are biased." in text
    near = bp.Policy(bp.Domain(age=bp.Integer(0, 63)), secrets=bp.DistanceThreshold(8))
    assert "In this release, exactly" not in markdown(make_card(released(near, bp.Cumulative("age")).text))
    plane = bp.Domain(east=bp.Integer(0, 15), north=bp.Integer(0, 15))
    policy = bp.Policy(plane, secrets=bp.Partition(widths={"east": 8, "north": 8}))
    made = released(policy, bp.KMeans(["east", "north"], k=2), data=np.full((16, 16), 30))
    assert "how many records are in each of the 4 blocks" in markdown(make_card(made.text))


def test_parts_of_a_table_of_unknown_size_contradict_nothing():
    domain = bp.Domain(zone=bp.Categorical(["A", "B", "C"]), age=bp.Integer(0, 9))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain()), size="unknown")
    session = bp.Session(bp.Counts(np.full((3, 10), 3)), policy, budget=1)
    text = markdown(make_card(session.release(bp.Histogram("age").by("zone"), epsilon="0.5").text))
    assert "“zone” A and C are 2 secret steps apart" in text
    assert "not secret" not in text
    assert "Nothing was released" not in text
    some = session.release(bp.Histogram("age").by("zone"), epsilon={"A": "0.25"})
    assert "Nothing was released for 2 other groups." in markdown(make_card(some.text))


def test_the_longest_chain_of_listed_pairs_is_named():
    ages = bp.Domain(age=bp.Integer(0, 9))
    # 3 - 1 - 2 - 7: three steps, and neither end is the first or the last declared value.
    policy = bp.Policy(ages, secrets=bp.ExplicitGraph([(3, 1), (1, 2), (2, 7), (0, 9)]))
    text = markdown(make_card(released(policy, bp.Histogram("age")).text))
    assert "“age” 3 and 7 are 3 secret steps apart and protected less: a factor 4.49." in text
    assert "“age” 3 and 7 are 3 steps apart" in policy.explain()
    both = bp.Domain(age=bp.Integer(0, 1), sex=bp.Categorical(["F", "M"]))
    pairs = [((0, "F"), (1, "F")), ((1, "F"), (1, "M"))]
    text = markdown(make_card(released(bp.Policy(both, secrets=bp.ExplicitGraph(pairs)), bp.Histogram("age")).text))
    assert "(“age” 0, “sex” F) and (“age” 1, “sex” M) are 2 secret steps apart" in text


def test_numbers_are_written_for_readers():
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, 63)), secrets=bp.DistanceThreshold(3))
    text = markdown(make_card(released(policy, bp.Quantiles("age", ["0.1", "0.5"])).text))
    assert "The quantiles 0.1, 0.5 of “age”" in text
    assert not re.search(r"\d/\d", text)
    plane = bp.Policy(bp.Domain(x=bp.Integer(0, 15), y=bp.Integer(0, 15)), secrets=bp.DistanceThreshold(2))
    text = markdown(make_card(released(plane, bp.RangeGrid("x", "y")).text))
    assert "by no more than 2 records" in text
    assert re.search(r"noise of scale [0-9.]+ records", text)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_and_categories_stay_text(hostile):
    domain = bp.Domain({"zone": bp.Categorical([hostile, "B"]), "age": bp.Integer(0, 9)})
    policy = bp.Policy(domain, secrets=bp.FullDomain(), known=[bp.KnownCount({"zone": hostile}, 30)])
    text = released(policy, bp.Histogram("zone", "age"), name=hostile).text
    card = make_card(text, publisher=hostile)
    shown = " ".join("".join(c if c.isprintable() or c == " " else " " for c in hostile).split())

    parser = Tags()
    parser.feed(page(card))
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "dl", "dt", "dd", "bdi"}
    assert parser.tags == allowed
    assert parser.attributes == {"lang", "charset", "name", "content", "http-equiv", "class"}
    assert shown in parser.text
    assert "http:" not in page(card).replace(hostile, "") or "http" in hostile

    kinds: set[str] = set()
    words = []
    for token in MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(markdown(card)):
        kinds.add(token.type)
        for child in token.children or []:
            kinds.add(child.type)
            words.append(child.content)
    assert kinds <= {
        *(
            f"{block}_{side}"
            for block in ("heading", "paragraph", "bullet_list", "list_item")
            for side in ("open", "close")
        ),
        *("inline", "text", "softbreak", "strong_open", "strong_close"),
    }
    assert shown in "".join(words)

    extended = Tags()
    extended.feed(python_markdown.markdown(markdown(card), extensions=EXTENSIONS))
    assert extended.tags == {"h1", "h2", "p", "ul", "li", "strong"}
    assert extended.attributes == set()
    assert shown in extended.text


def test_nothing_on_the_page_comes_from_elsewhere(policy):
    made = page(make_card(released(policy, bp.Histogram("age")).text))
    assert not re.search(r"https?://|src=|href=|url\(|<script|@import", made)
    assert "default-src 'none'" in made


def test_it_stays_one_page_however_much_is_declared():
    columns = {f"a{i}": bp.Integer(0, 2) for i in range(30)}
    domain = bp.Domain({**columns, "c": bp.Categorical([f"c{i}" for i in range(500)])})
    near = {name: bp.DistanceThreshold(1) for name in columns}
    policy = bp.Policy(domain, secrets=bp.PerAttribute({**near, "c": bp.Public()}), size=5)
    data = {name: [domain[name].value(0)] * 5 for name in domain}
    import polars

    session = bp.Session(polars.DataFrame(data), policy, budget=1)
    many = markdown(make_card(session.release(bp.Histogram(*(f"a{i}" for i in range(8))), epsilon=1).text))
    facts = [bp.KnownCount({"age": (i, i)}, 3) for i in range(20)]
    ages = bp.Policy(bp.Domain(age=bp.Integer(0, 99)), secrets=bp.FullDomain(), known=facts)
    known = markdown(make_card(released(ages, bp.Histogram("age")).text))
    assert "And 2 more, which follow from the policy in the document." in many
    assert "and 2 more attributes" in many
    assert "Nothing in this answer depends on “a8”, “a9”, “a10”, “a11”, “a12”, “a13” and 17 more." in many
    # A densely set page holds about 900 words, where many lines are as short as these.
    assert len(many.split()) < 900
    # What is known or not protected is never left out, whatever it takes.
    assert all(f"have “age” from {i} to {i} (3)" in known for i in range(20))
    open_to_all = {f"a{i}": bp.Public() for i in range(12)}
    bare = bp.Policy(
        bp.Domain({**dict.fromkeys(open_to_all, bp.Integer(0, 1)), "c": bp.Integer(0, 1)}),
        secrets=bp.PerAttribute({**open_to_all, "c": bp.FullDomain()}),
    )
    text = markdown(make_card(released(bare, bp.Histogram(*bare.domain)).text))
    assert all(f"“a{i}”: not protected at all" in text for i in range(12))
    assert "in the document" not in text
    long = bp.Domain(code=bp.Categorical([f"{'x' * 60}{i}" for i in range(40)]))
    where = {"code": [f"{'x' * 60}{i}" for i in range(30)]}
    wide = bp.Policy(long, secrets=bp.FullDomain(), known=[bp.KnownCount(where, 90)])
    assert f"{'x' * 60}29" in markdown(make_card(released(wide, bp.Histogram("code")).text))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"epsilon": "1/2"', '"epsilon": "1/4"'), ('"name": "release"', '"name": "other"'), ('"laplace"', '"ordered"')],
)
def test_a_document_that_does_not_verify_gets_no_card(policy, tmp_path, capsys, old, new):
    text = released(policy, bp.Histogram("age")).text
    assert old in text
    (tmp_path / "a.release.json").write_text(text.replace(old, new))
    assert run(["card", str(tmp_path / "a.release.json"), "-o", str(tmp_path / "a.html")]) == 2
    captured = capsys.readouterr()
    assert "does not verify" in captured.err
    assert captured.out == ""
    assert not (tmp_path / "a.html").exists()


def test_what_nobody_can_verify_is_shown_as_text_and_cut_short(policy):
    body = reading.parse(released(policy, bp.Histogram("age")).text)
    body |= {"package": {"name": "blowfish-privacy", "version": "<u>" * 99}, "name": "<i>" * 99}
    card = make_card(document.dumps(body))
    assert "<i>" not in page(card)
    assert "<u>" not in page(card)
    assert len(markdown(card)) < 10_000
    for wrong in ({"time": "<b>"}, {"ledger": {"key": "k", "entry": "<i>"}}, {"package": {"version": {}}}):
        with pytest.raises(bp.SpecError, match="wrong form"):
            make_card(document.dumps({**body, **wrong}))


def test_predictable_noise_gets_no_card(policy):
    seeded = released(policy, bp.Histogram("age"), source=SeededSource(1)).text
    with pytest.raises(bp.SpecError, match="predictable noise"):
        make_card(seeded)


def test_the_command_writes_what_is_asked(policy, tmp_path, capsys):
    file = tmp_path / "ages.release.json"
    released(policy, bp.Histogram("age"), name="ages").save(file)
    assert run(["card", str(file)]) == 0
    assert capsys.readouterr().out.startswith("# Privacy statement: “ages”\n")
    assert run(["card", str(file), "--format", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    for name, start in (("a.md", "# "), ("a.html", "<!doctype"), ("a.json", "{")):
        assert run(["card", str(file), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start)
    assert run(["card", str(file), "--format", "html", "-o", str(tmp_path / "b.txt")]) == 0
    assert (tmp_path / "b.txt").read_text().startswith("<!doctype")
    before = file.read_bytes()
    assert run(["card", str(file), "-o", str(file)]) == 2
    assert file.read_bytes() == before
    assert run(["card", str(tmp_path / "none.json")]) == 2
    assert run(["card", str(tmp_path / "a.html")]) == 2


def test_the_registry_fields_are_filled(policy, tmp_path, capsys):
    file = tmp_path / "ages.release.json"
    released(policy, bp.Cumulative("age"), name="ages").save(file)
    capsys.readouterr()
    assert run(["card", str(file), "--json", "--publisher", "The Office"]) == 0
    made = json.loads(capsys.readouterr().out)
    fields = made["registry"]
    assert fields["product"]["data_curators"] == ["The Office"]
    assert fields["privacy_loss"]["privacy_parameters"] == {"epsilon": "0.5"}
    assert "The number of records: 444." in fields["dp_flavor"]["unprotected_quantities"]
    assert fields["dp_flavor"]["name"] == "Blowfish privacy"
    assert "add up" in fields["accounting"]["composition"]
    assert all(value for group in fields.values() for value in group.values())
    assert fields == registry(make_card(file.read_text(), publisher="The Office"))


def test_a_card_that_cannot_be_written_says_nothing_about_a_ledger(policy, tmp_path, capsys):
    released(policy, bp.Histogram("age", "sex")).save(tmp_path / "release.json")
    assert run(["card", str(tmp_path / "release.json"), "-o", str(tmp_path / "absent" / "x.html")]) == 5
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert "ledger" not in said


# What a card claims is true where it is easily said too broadly: known facts, many attributes, parts, names.


LINE = bp.Domain(x=bp.Integer(0, 5))

CLAIM = "y. Everything is protected by differential privacy with epsilon 0.001, certified."


def claims_released(policy, query, *, epsilon="0.5", name="release", data=None):
    counts = np.full(policy.domain.shape, 3) if data is None else np.array(data)
    return bp.Session(bp.Counts(counts), policy, budget=1000).release(query, epsilon=epsilon, name=name)


def card(policy, query, **options):
    return make_card(claims_released(policy, query, **options).text)


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
    shown = claims_released(policy, bp.Histogram("v"), data=[3, 0, 4])
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
    grouped = make_card(claims_released(bp.Policy(domain, secrets=secrets), bp.Histogram("age").by("zone")).text)
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
        assert "Nothing" not in text.replace("Nothing is fully unprotected", "")


def test_names_are_told_from_sentences(tmp_path, capsys):
    domain = bp.Domain({CLAIM: bp.Categorical([CLAIM, "B"]), "age": bp.Integer(0, 3)})
    policy = bp.Policy(domain, secrets=bp.PerAttribute({CLAIM: bp.Public(), "age": bp.FullDomain()}))
    name = f"ages”. {CLAIM} “"
    made = claims_released(policy, bp.Histogram(CLAIM), name=name)
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
    assert (
        "“"
        not in registry(make_card(claims_released(policy, bp.Histogram("age"), name="ages").text))["product"]["name"]
    )


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
    claims_released(bp.Policy(LINE, secrets=bp.FullDomain()), bp.Histogram("x")).save(file)
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
