"""Which class a secret pair belongs to, told from its two values alone."""

from blowfish_privacy.graphs.graph import differing
from blowfish_privacy.privacy.loss import ALL, PRESENCE, changing, one_attribute_at_a_time
from blowfish_privacy.testing.oracle import ABSENT


def class_of(policy, x, y):
    if ABSENT in (x, y):
        return PRESENCE
    if not one_attribute_at_a_time(policy):
        return ALL
    (axis,) = differing(x, y)
    return changing(policy.domain.names[axis])
