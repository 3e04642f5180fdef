import json
from decimal import Decimal
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import given, settings

import blowfish_privacy as bp
from blowfish_privacy.release import spec
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
