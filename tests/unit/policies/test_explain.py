import blowfish_privacy as bp
from blowfish_privacy.policies.explain import explain_pair

DOMAIN = bp.Domain(age=bp.Integer(17, 90), sex=bp.Categorical(["Female", "Male"]), zone=bp.Integer(0, 29))
SECRETS = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain(), zone=bp.Partition(widths=10))
POLICY = bp.Policy(DOMAIN, secrets=SECRETS)


def test_the_direction_is_right():
    text = POLICY.explain()
    assert "“age”: values at most 5 apart are secret pairs, such as 17 and 22; values further apart take" in text
    assert "“sex”: every two values are a secret pair." in text
    assert "hidden as strongly as epsilon says, no more" in text
    assert "Which of the 3 blocks of “zone” a person is in is not protected at all" in text
    # e^0.1, e^0.5, e^1 to two places; e^(15 x 0.1) = 4.48.
    assert "1.11 at eps = 0.1, 1.65 at eps = 0.5, 2.72 at eps = 1" in text
    assert "“age” 17 and 90 are 15 steps apart: a factor e^(15 eps): 4.48 at eps = 0.1" in text


def test_pairs():
    assert "are a secret pair" in explain_pair(POLICY, {"age": 30}, {"age": 34})
    # e^0.6 = 1.82, e^3 = 20, e^6 = 403.
    assert "6 steps apart" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "1.82 at eps = 0.1, 20 at eps = 0.5, 403 at eps = 1" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "not protected from each other at all" in explain_pair(POLICY, {"zone": 0}, {"zone": 10})
    assert "are the same value" in explain_pair(POLICY, {"zone": 0}, {"zone": 0})


def test_units_and_sizes_are_said():
    text = bp.Policy(DOMAIN, secrets=SECRETS, size="unknown", rows_per_person=3).explain()
    assert "any two values are at most two steps apart" in text
    assert "not protected at all" not in text
    assert "whether a person is in the table at all is secret too" in text
    assert "up to 3 rows" in text
    assert "noise is 3 times larger" in text
    assert "The number of records (48,842)." in bp.Policy(DOMAIN, secrets=SECRETS, size=48_842).explain()
