from math import inf

import blowfish_privacy as bp
from blowfish_privacy.policies.explain import about_attribute, explain_pair, unprotected
from blowfish_privacy.privacy.sensitivity import sensitivity

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
    assert "“age” 17 and 90 are 15 steps apart: a factor e^(15 eps): 4.49 at eps = 0.1" in text


def test_pairs():
    assert "are a secret pair" in explain_pair(POLICY, {"age": 30}, {"age": 34})
    # e^0.6 = 1.82, e^3 = 20, e^6 = 403.
    assert "6 steps apart" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "1.83 at eps = 0.1, 21 at eps = 0.5, 404 at eps = 1" in explain_pair(POLICY, {"age": 30}, {"age": 60})
    assert "not protected from each other at all" in explain_pair(POLICY, {"zone": 0}, {"zone": 10})
    assert "are the same value" in explain_pair(POLICY, {"zone": 0}, {"zone": 0})


def test_a_public_attribute_is_two_steps_wide_where_the_number_of_records_is_secret():
    flags = bp.Domain(age=bp.Integer(0, 20), flag=bp.Categorical(["Yes", "No"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), flag=bp.Public())
    open_size, secret_size = (bp.Policy(flags, secrets=secrets, size=size) for size in ("known", "unknown"))
    assert about_attribute(open_size, "flag") == ("“flag”: not protected at all. Releases may show it exactly.",)
    assert open_size.distance({"flag": "Yes"}, {"flag": "No"}) == inf
    assert secret_size.distance({"flag": "Yes"}, {"flag": "No"}) == 2
    (said,) = about_attribute(secret_size, "flag")
    assert "any two values are two steps apart, and releases do not show it exactly" in said
    assert sensitivity(bp.Histogram("flag"), secret_size).value == 1
    assert unprotected(secret_size) == ()
    assert about_attribute(secret_size, "age") == about_attribute(open_size, "age")


def test_steps_do_not_add_up_where_the_number_of_records_is_secret():
    people = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["Female", "Male"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain())
    added = "as many steps apart as those attributes add up to"
    assert added in bp.Policy(people, secrets=secrets).explain()
    secret_size = bp.Policy(people, secrets=secrets, size="unknown")
    assert secret_size.distance({"age": 0, "sex": "Female"}, {"age": 20, "sex": "Male"}) == 2
    assert added not in secret_size.explain()


def test_examples_of_an_attribute_are_left_out_where_facts_may_disclose_them():
    domain = bp.Domain(age=bp.Integer(0, 20), sex=bp.Categorical(["Female", "Male"]))
    secrets = bp.PerAttribute(age=bp.DistanceThreshold(5), sex=bp.FullDomain())
    known = [bp.KnownCount({"sex": "Female"})]
    assert "such as" in about_attribute(bp.Policy(domain, secrets=secrets), "age")[0]
    assert "such as" not in about_attribute(bp.Policy(domain, secrets=secrets, known=known), "age")[0]


def test_units_and_sizes_are_said():
    text = bp.Policy(DOMAIN, secrets=SECRETS, size="unknown", rows_per_person=3).explain()
    assert "any two values are at most two steps apart" in text
    assert "not protected at all" not in text
    assert "whether a person is in the table at all is secret too" in text
    assert "up to 3 rows" in text
    assert "noise is 3 times larger" in text
    assert "The number of records (48,842)." in bp.Policy(DOMAIN, secrets=SECRETS, size=48_842).explain()
