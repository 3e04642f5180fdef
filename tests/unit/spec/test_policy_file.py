from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import given, settings

import blowfish_privacy as bp
from blowfish_privacy.domain import Attribute
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.privacy.measure import EPSILON, RHO, Budget, rho_of
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.release.spec import ATTRIBUTE_ADVICE, QUERY_ADVICE
from blowfish_privacy.release.target import Target
from blowfish_privacy.support import yaml_text
from blowfish_privacy.testing.strategies import policies
from effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::blowfish_privacy.errors.BlowfishWarning")

ROOT = Path(__file__).parents[3]

CENSUS = (ROOT / "examples/census.yaml").read_text()


def with_policy(**sections):
    body = {"domain": {"age": {"integer": [17, 90]}}, "secrets": "full", **sections}
    return json.dumps({"version": 1, "policy": body})


@given(policies(most_facts=2))
@settings(max_examples=examples(200), deadline=None)
def test_file_to_policy_to_file(policy):
    text = spec.dumps(policy)
    again = spec.loads(text).policy
    assert again.hash == policy.hash
    assert again.domain == policy.domain
    assert spec.dumps(again) == text


def test_the_hash_does_not_depend_on_key_order_or_spelling():
    one = """
    version: 1
    policy:
      domain: {age: {integer: [17, 90]}, sex: {categorical: [F, M]}, wage: {binned: [0, 0.5, 1]}}
      secrets: {per_attribute: {age: {threshold: 5}, sex: full, wage: full}}
    """
    other = """
    policy:
      secrets: {per_attribute: {wage: {partition: {widths: 10}}, sex: {edges: [[M, F]]}, age: {threshold: "5.0"}}}
      domain: {wage: {binned: ["0", "1/2", 1.0]}, sex: {categorical: [M, F]}, age: {integer: [17, 90]}}
      known: []
    version: 1
    """
    assert spec.loads(one).policy.hash == spec.loads(other).policy.hash
    assert spec.loads(one).policy.hash != spec.loads(one.replace("threshold: 5", "threshold: 6")).policy.hash


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("full", {"threshold": 100}),
        ("full", "attributes"),
        ("full", {"per_attribute": {"age": "full"}}),
        ({"threshold": 5}, {"threshold": "5.5"}),
        ({"threshold": 5}, {"threshold": 10, "scale": {"age": 2}}),
        ({"threshold": 10}, {"threshold": 1, "scale": {"age": "0.1"}}),
        ("public", {"edges": []}),
        ("public", {"threshold": "1/2"}),
        ("public", {"partition": {"widths": {"age": 1}}}),
        ({"partition": {"widths": 37}}, {"partition": {"blocks": {"age": [[17, 53], {"range": [54, 90]}]}}}),
        ({"edges": [[17, 18], [18, 19]]}, {"edges": [[19, 18], [18, 17], [17, 18]]}),
    ],
)
def test_equivalent_secrets_have_one_hash(one, other):
    assert spec.loads(with_policy(secrets=one)).policy.hash == spec.loads(with_policy(secrets=other)).policy.hash


def test_the_published_schema_is_the_schema_and_accepts_the_examples():
    published = json.loads((ROOT / "docs/policy-file.schema.json").read_text())
    assert published == spec.schema(), "run: make schema"
    jsonschema.Draft202012Validator.check_schema(published)
    for example in sorted((ROOT / "examples").glob("*.yaml")):
        jsonschema.validate(yaml.safe_load(example.read_text()), published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "policy": {"domain": {}, "secrets": "ful"}}, published)


@given(policies(most_facts=2))
@settings(max_examples=examples(60), deadline=None)
def test_the_schema_accepts_what_the_library_writes(policy):
    jsonschema.validate(yaml_text.parse(spec.dumps(policy)), spec.schema())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("[1, 2]", r"the file is not a policy file"),
        ("version: 2\npolicy: {}", "version"),
        ("version: 1", "policy is missing"),
        ("version: 1\npolicy: {domain: {}, secrets: full}", "policy.domain must not be empty"),
        ("version: 1\npolicy: {domain: 5, secrets: full}", "policy.domain must be a mapping with attributes, got 5"),
        (
            "version: 1\npolicy: {domain: {a: {integer: [1, 2]}}, secret: full}",
            "did you mean 'secrets'|secrets is missing",
        ),
        ("version: 1\npolcy: {}", "policy is missing|did you mean 'policy'"),
        (with_policy(domain={"a": {"intger": [1, 2]}}), "did you mean 'integer'"),
        (
            with_policy(domain={"a": {"integer": [1]}}),
            r"policy.domain.a.integer must be two whole numbers within .* got \[1\]. Hint: write integer: \[17, 90\]",
        ),
        (with_policy(domain={"a": {"integer": [1, 2], "outsde": "clamp"}}), "did you mean 'outside'"),
        (
            with_policy(domain={"a": {"integer": [1, 2], "categorical": ["a"]}}),
            "policy.domain.a: an attribute has one kind, got 'integer' and 'categorical'",
        ),
        (with_policy(secrets="ful"), "did you mean 'full'"),
        (with_policy(secrets={"treshold": 5}), "did you mean 'threshold'"),
        (with_policy(secrets={"threshold": 5, "scales": {}}), "did you mean 'scale'"),
        (
            with_policy(secrets={"threshold": 5, "edges": []}),
            "policy.secrets: a choice of secrets has one kind, got 'threshold' and 'edges'",
        ),
        (with_policy(secrets=None), "policy.secrets must be a choice of secrets, got nothing. Hint: write full, or"),
        (with_policy(secrets={"per_attribute": {"aeg": "full"}}), "did you mean 'age'"),
        (
            with_policy(secrets={"per_attribute": {"age": {"threshold": "x"}}}),
            "policy.secrets: age: the threshold theta",
        ),
        (with_policy(secrets={"full": 3}), "full takes no options"),
        (with_policy(secrets={"partition": {"width": 3}}), "did you mean 'widths'"),
        (with_policy(known=[{"marginal": ["ag"]}]), "did you mean 'age'"),
        (
            with_policy(known=[{"marginals": ["age"]}]),
            r"the first known fact: a known fact has one kind, got 'marginals'. Hint: did you mean 'marginal'",
        ),
        (with_policy(known={"marginal": "age"}), "list of facts"),
        (with_policy(known=[{"count": {"age": [17, 20]}, "equal": 3}]), "did you mean 'equals'"),
        (with_policy(rows_per_person=0), "rows_per_person"),
        (with_policy(size="unkown"), "size"),
        ("version: 1\nversion: 1", "line 2, column 1: duplicate key 'version'"),
        ("a: &x [1]\nb: *x", "anchors and aliases are not allowed"),
        ("a: !!python/object:os.system {}", "tags are not allowed"),
        ("a: [1", r"line 1: the bracket \[ is opened here"),
        ("[" * 100_000, "line 1, column 102: the file has more than 100 levels"),
        ("a: " + "9" * 10_000, "line 1, column 4: a number has 10,000 digits, and 1,200 is the most"),
        ("a: \x00", "not valid YAML"),
        ("? [a, b]\n: 1", "a key must be plain text"),
        (CENSUS.replace("budget: 1.0", "budget: 0"), "budget must be above 0"),
        (CENSUS.replace("budget: 1.0", "budgt: 1.0"), "did you mean 'budget'"),
        (with_policy(size=True), "policy.size must be 'known', 'unknown' or a whole number"),
        (with_policy(size="7"), "policy.size must be"),
        (with_policy(size=7.5), "policy.size must be"),
        (with_policy(rows_per_person=True), "policy.rows_per_person must be"),
        ("version: true\npolicy: {}", "version must be 1"),
        ("version: 1\npolicy: 5", "policy must be a mapping"),
        ("version: 1\npolicy: {domain: {a: {integer: [1, 2]}}, secret: full}", "did you mean 'secrets'"),
        (
            with_policy(secrets={"partition": {"widths": {"age": None}}}),
            "policy.secrets.partition.widths must be the width of the blocks of each attribute",
        ),
        (
            with_policy(secrets={"partition": {"blocks": {"age": [17, 18]}}}),
            "policy.secrets.partition.blocks must be .* a block is a list of values",
        ),
    ],
)
def test_wrong_files_are_refused_with_the_place_and_a_hint(text, said):
    with pytest.raises(bp.BlowfishError, match=said):
        spec.loads(text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("integer: [17, 90]", "integer: [17]", "line 11: policy.domain.age.integer must be"),
        ("categorical: [Female, Male]", "categories: [Female, Male]", "line 12: policy.domain.sex: an attribute has"),
        ("region: public", "region: pblic", "line 19: policy.secrets.per_attribute.region: a choice of secrets has"),
        ("age: {threshold: 5}", "age: {threshold: x}", "line 15: policy.secrets: age: the threshold theta"),
        ("cumulative: wage", "cumulative: wages", r"line 22: release 'wages': the domain has no attribute 'wages'"),
        ("epsilon: 0.3", "epsilon: []", r"line 23: release 'table': epsilon must be a number above 0"),
        ("name: table, ", "", r"line 23: the second release: name is missing"),
    ],
)
def test_errors_name_the_line(old, new, said):
    text = CENSUS.replace(old, new)
    assert text != CENSUS
    with pytest.raises(bp.BlowfishError, match=f"^{said}"):
        spec.loads(text)


def test_lines_are_found():
    text = "a: 1\nb:\n  - x\n  - {c: [1,\n     2], d: {e: 5,\n  f: 6}}\n"
    for path, line in [(("a",), 1), (("b",), 2), (("b", 0), 3), (("b", 1, "c", 1), 5), (("b", 1, "d", "f"), 6)]:
        assert yaml_text.line_of(text, path) == line
    assert yaml_text.line_of(text, ("b", 1, "d", "none", 7)) == 5


def test_yaml_keeps_what_people_write():
    parsed = yaml_text.parse("{a: [NO, yes, on, 010, 12:30, 2020-01-01, true, 0.1, 5, ~, 1e3, '7', .5]}")
    assert [str(x) for x in parsed["a"][:6]] == ["NO", "yes", "on", "010", "12:30", "2020-01-01"]
    assert parsed["a"][6] is True
    assert parsed["a"][7:] == [Decimal("0.1"), 5, None, 1000, "7", Decimal("0.5")]
    for value in ("NO", "010", "true", "5", "0.5", "~", "", "null", "12:30", "a: b", "# x", "é\n"):
        assert yaml_text.parse(yaml_text.write({"k": value})) == {"k": value}


def test_files_that_cannot_be_read(tmp_path):
    for path, said in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory"), ("a\0b", "not valid")):
        with pytest.raises(bp.SpecError, match=said):
            spec.load(path)
    (tmp_path / "latin.yaml").write_bytes(b"version: \xff")
    with pytest.raises(bp.SpecError, match="not UTF-8"):
        spec.load(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    "declaration",
    [
        bp.Binned([0, "0.5", 1, 5], missing=0.5),
        bp.Binned([0, "0.5", 1, 5], missing=bp.Bin(1, 5)),
        bp.Integer(0, 3, missing=np.int64(2)),
        bp.Categorical(["a\x85b", "é", "NO", "\u2028"]),
    ],
)
def test_every_declaration_survives_the_file(declaration):
    policy = bp.Policy(bp.Domain(v=declaration), secrets=bp.FullDomain())
    again = spec.loads(spec.dumps(policy)).policy
    assert again.hash == policy.hash
    assert again.domain["v"].missing_position == declaration.missing_position


def test_numbers_of_other_libraries_survive_the_file():
    domain = bp.Domain(v=bp.Integer(0, 3))
    for secrets in (
        bp.ExplicitGraph([(np.int64(0), np.int64(1))]),
        bp.Partition(widths=np.int64(2)),
        bp.Partition(blocks=[[np.int64(0), np.int64(1)], [2, 3]]),
        bp.DistanceThreshold(np.float64(1.5)),
    ):
        policy = bp.Policy(domain, secrets=secrets)
        assert spec.loads(spec.dumps(policy)).policy.hash == policy.hash


# Errors of a policy file know their line.


TEXT = """version: 1
data: people.csv
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}
  secrets: full
releases:
  - {name: ages, histogram: [age], epsilon: 0.1}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("[17, 90]}", "[17, 90", 6),  # where the bracket is opened
        ("[17, 90]", "[90, 17]", 6),
        ("[17, 90]", "old", 6),
        ("full", "ful", 7),
        ("full", "{threshold: 0}", 7),
        ("[age]", "[aeg]", 9),
        ("0.1", "0,1", 9),
        ("0.1", "-1", 9),
        ("version: 1", "version: 2", 1),
        ("version: 1", "version: &one 1", 1),
        ("data: people.csv", 'data: "a\\0"', 2),
        ("1.0", "none", 3),
        ("1.0", "{rho: 1, epsilon: 1}", 3),
        ("data: people.csv", "version: 1", 2),
        ("secrets: full", "secrets: full\n  sise: 7", 8),
        ("0.1}", "0.1, epsilom: 1}", 9),
        ("budget: 1.0", "bugdet: 1.0", 3),
        ("secrets: full", "secrets: full\n  known: [{marginal: [sex]}]", 4),
    ],
)
def test_an_error_knows_its_line(old: str, new: str, line: int):
    with pytest.raises(BlowfishError) as caught:
        spec.loads(TEXT.replace(old, new, 1))
    assert caught.value.line == line


def test_an_error_that_has_no_place_has_no_line():
    with pytest.raises(BlowfishError) as caught:
        spec.loads("version: 1\n")
    assert caught.value.line is None
    assert BlowfishError("wrong.").within("here").line is None
    assert BlowfishError("wrong.", line=3).within("here").line == 3


# Words from other programs: the hint names what to write here, and that works.


OTHER_WORDS_TEXT = """version: 1
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: r, ASKED, epsilon: 0.1}
"""


def hint_for(asked: str) -> str:
    with pytest.raises(SpecError) as caught:
        spec.loads(OTHER_WORDS_TEXT.replace("ASKED", asked))
    assert caught.value.message.startswith("line 8: release 'r': ")
    return caught.value.hint or ""


@pytest.mark.parametrize("word", QUERY_ADVICE)
def test_every_example_of_a_query_works(word):
    hint = hint_for(f"{word}: {'sex' if 'group' in word else 'age'}")
    written = re.findall(r"(?:write|or|for one table,|as in) ([a-z]+: [^;]*?)(?:, or |, which | for one|;|\.?$)", hint)
    assert written
    for example in written:
        spec.loads(OTHER_WORDS_TEXT.replace("ASKED", example))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("quantile: age", "quantiles: age, at: [0.25, 0.5, 0.75], or median: age"),
        ("average: age", "mean: age"),
        ("crosstab: [age, sex]", "histogram: [age, sex]"),
        ("mean: age, group_by: [sex]", "did you mean 'by'"),
        ("mean: age, filter: {sex: Male}", "did you mean 'where'"),
    ],
)
def test_the_hint_speaks_of_the_attributes_that_were_named(asked, said):
    assert said in hint_for(asked)


@pytest.mark.parametrize("word", [word for word in ATTRIBUTE_ADVICE if word not in Attribute.kinds])
def test_other_kinds_of_attributes_say_how_to_declare_them(word):
    with pytest.raises(SpecError) as caught:
        spec.loads(OTHER_WORDS_TEXT.replace("integer:", f"{word}:").replace("ASKED", "histogram: [sex]"))
    assert re.search(r"\{(date|decimal|categorical|integer): \[", caught.value.hint or "")


def test_dates_in_place_of_whole_numbers_say_how_they_are_declared():
    with pytest.raises(SpecError, match=r"day: \{date: \[2020-01-01, 2020-12-31\], step: day\}"):
        spec.loads(
            OTHER_WORDS_TEXT.replace("[17, 90]", "[2020-01-01, 2020-12-31]").replace("ASKED", "histogram: [sex]")
        )


# A text that is no policy file: what is wrong is said in plain words, with the line.


WRONG_TEXT_TEXT = """version: 1
data: people.csv
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: full
releases:
  - {name: ages, histogram: [age], epsilon: 0.1}
"""


@pytest.mark.parametrize("parser", [yaml_text.Parser, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("  secrets", "\tsecrets", 7, "a tab is used for indentation"),
        ("    sex", "\tsex", 6, "a tab is used for indentation"),
        ("version: 1\n", "", None, "version is missing. Hint: begin the file with the line version: 1"),
        ("version: 1", "version: 2", 1, "version must be 1, got 2"),
        ("version: 1", "version:1", 2, "a space is missing after a colon"),
        ("data:", "version:", 2, "duplicate key 'version'"),
        ("people.csv", "'people.csv", 2, "a quotation mark is opened here and never closed"),
        ("people.csv", "'it's'", 2, "goes on after its closing quotation mark"),
        ("people.csv", r'"C:\people.csv"', 2, "a backslash inside double quotation marks"),
        ("people.csv", "@people", 2, "a value cannot begin with @"),
        ("people.csv", "my data: people.csv", 2, "a second colon in one value"),
        ("Male]", "Male", 6, r"the bracket \[ is opened here"),
        ("Male]}", "Male]}}", 6, "the bracket } is closed here and was not opened"),
        ("    sex", "   sex", 6, "the indentation does not fit"),
        ("  secrets", "   secrets", 7, "the indentation does not fit"),
        ("full", "&all full", 7, "anchors and aliases are not allowed. Hint: write the value out"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(monkeypatch, parser, old, new, line, said):
    monkeypatch.setattr(yaml_text, "Parser", parser)
    with pytest.raises(SpecError, match=said) as caught:
        spec.loads(WRONG_TEXT_TEXT.replace(old, new, 1))
    assert caught.value.line == line
    assert line is None or caught.value.message.startswith(f"line {line}")


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", None, "the file is empty"),
        (b"# nothing yet\n", None, "the file is empty"),
        (WRONG_TEXT_TEXT.replace("Male", "Männlich").encode("latin-1"), 6, "line 6: .* is not UTF-8 text"),
        (WRONG_TEXT_TEXT.encode("utf-16"), None, "is not UTF-8 text but UTF-16"),
        (b"PK\x03\x04rest", None, "is a zip archive or a spreadsheet"),
        (b"PAR1rest", None, "is a Parquet file"),
        (b"age,sex\n987654,CANARY\n", None, "the file is not a policy file"),
    ],
)
def test_files_of_another_kind_are_told_apart_and_not_quoted(tmp_path, content, line, said):
    (tmp_path / "people.yaml").write_bytes(content)
    with pytest.raises(SpecError, match=said) as caught:
        spec.load(tmp_path / "people.yaml")
    assert caught.value.line == line
    assert "CANARY" not in str(caught.value)


def test_a_mark_that_editors_put_in_front_does_no_harm(tmp_path):
    (tmp_path / "people.yaml").write_bytes(WRONG_TEXT_TEXT.encode("utf-8-sig"))
    assert spec.load(tmp_path / "people.yaml") == spec.loads(WRONG_TEXT_TEXT)


# What a release may spend, as it is stated, and the choices that this leaves.


ONE, TINY = Fraction(1), Fraction(1, 10**9)

BOTH = Budget.read({"epsilon": 1, "delta": "1e-9"}).measure

POLICY = bp.Policy(bp.Domain(v=bp.Integer(0, 9), w=bp.Categorical(["a", "b"])), secrets=bp.Attributes())


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({}, "one of epsilon, rho and error"),
        ({"epsilon": 1, "rho": 1}, "one of epsilon, rho and error"),
        ({"rho": 1, "error": 1}, "one of epsilon, rho and error"),
        ({"rho": 1, "delta": "1e-9"}, "delta stands beside epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "delta": "0.5"}, "at most 0.01"),
        ({"epsilon": 1, "noise": "gaussian"}, "Gaussian noise loses rho"),
        ({"epsilon": 1, "noise": "normal"}, "'laplace' or 'gaussian'"),
        ({"rho": 0}, "rho must be above 0"),
        ({"rho": "x"}, "rho"),
        ({"epsilon": float("nan")}, "epsilon"),
    ],
)
def test_what_contradicts_itself_is_refused(stated, said):
    with pytest.raises(bp.QueryError, match=said):
        Target.of(**stated)


def test_either_noise_costs_a_ledger_that_counts_in_rho_no_more_than_the_rho_allowed():
    for ledger in (RHO, BOTH):
        for target in (Target.of(rho="0.01", ledger=ledger), Target.of(epsilon=1, delta="1e-9", ledger=ledger)):
            choices = target.choices(target.amount)
            assert ledger.converted(choices[EPSILON], EPSILON) <= choices[RHO]
            # A slightly larger epsilon would cost more.
            assert ledger.converted(choices[EPSILON] * Fraction(1001, 1000), EPSILON) > choices[RHO]


def test_without_such_a_ledger_epsilon_is_what_was_allowed():
    assert Target.of(epsilon=1, delta="1e-9").choices(ONE) == {EPSILON: 1, RHO: rho_of(ONE, TINY)}
    assert Target.of(epsilon=1, delta="1e-9", ledger=EPSILON).choices(ONE) == {EPSILON: 1}
    assert Target.of(epsilon=1).choices(ONE) == {EPSILON: 1}


def test_a_pure_ledger_says_why_it_takes_no_gaussian_noise():
    with pytest.raises(bp.RefusalError, match="promises that nothing fails"):
        Target.of(rho="0.01", ledger=EPSILON).choices(Fraction(1, 100))
    assert Target.of(rho="0.02", noise="laplace", ledger=EPSILON).choices(Fraction(1, 50)) == {EPSILON: Fraction(1, 5)}


def test_plans_take_the_more_accurate_noise_and_say_so():
    many = bp.Tables([["v", "w"], ["v"], ["w"]])
    plan = make_plan(many, POLICY, rho="0.5", records=100)
    assert (plan.epsilon, plan.rho, plan.amount) == (None, Fraction(1, 2), Fraction(1, 2))
    assert plan.errors[RHO] < plan.errors[EPSILON]
    assert "Gaussian noise was chosen" in plan.explain()
    plan = make_plan(bp.Histogram("v"), POLICY, epsilon=1, delta="1e-9", records=100)
    assert (plan.epsilon, plan.rho) == (1, None)
    assert "Laplace noise was chosen" in plan.explain()
    forced = make_plan(bp.Histogram("v"), POLICY, epsilon=1, delta="1e-9", noise="gaussian", records=100)
    assert forced.rho == rho_of(ONE, TINY)
    assert forced.expected_error().rmse > plan.expected_error().rmse


def test_groups_get_noise_of_one_kind():
    policy = bp.Policy(POLICY.domain, secrets=bp.PerAttribute(v=bp.FullDomain(), w=bp.Public()))
    session = bp.Session(bp.Counts([[5] * 2] * 10), policy, budget={"rho": 1})
    result = session.release(bp.Histogram("v").by("w"), rho={"a": "0.1", "b": "0.2"})
    assert result.certificate.rho == Fraction(1, 5)
    assert session.ledger.spent == Fraction(1, 5)


def test_an_error_is_solved_for_in_what_the_ledger_counts():
    session = bp.Session(bp.Counts([[5] * 2] * 10), POLICY, budget={"rho": 10})
    plan = session.plan(bp.Histogram("v"), error=5)
    assert plan.rho == Fraction(4, 100)
    assert session.plan(bp.Histogram("v"), error=5, noise="laplace").epsilon is not None


def test_gaussian_cells_that_meet_a_public_total_state_their_own_interval():
    session = bp.Session(bp.Counts([[5] * 2] * 10), POLICY, budget={"rho": 1})
    error = session.release(bp.Histogram("v"), rho="0.02").error()
    # Of ten cells with a known sum nine tenths of the variance are left, and a normal deviate is within 1.96 of them.
    assert error.rmse == pytest.approx((50 * 0.9) ** 0.5, rel=1e-6)
    assert error.interval("0.95") == pytest.approx(1.96 * error.rmse, rel=0.03)
    assert "Gaussian" in error.distribution


def test_a_section_that_is_changed_leaves_its_policy_as_it_was():
    policy = bp.Policy(bp.Domain(v=bp.Integer(0, 9)), secrets=bp.DistanceThreshold(1))
    spec.policy_to_section(policy)["domain"].clear()
    assert spec.policy_to_section(policy)["domain"] == {"v": {"integer": [0, 9]}}
