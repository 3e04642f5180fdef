"""Reading steps again: whether they are steps of an approach, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from blowfish_privacy.mechanisms.synthetic.approach import Approach, Limits
from blowfish_privacy.mechanisms.synthetic.model import Axes
from blowfish_privacy.mechanisms.synthetic.scope import Scope
from blowfish_privacy.mechanisms.synthetic.steps.accountant import Accountant
from blowfish_privacy.mechanisms.synthetic.steps.transcript import Choice, Look, Step


def steps_hold(steps: Sequence[Step], scope: Scope, approach: Approach, limits: Limits) -> bool:
    """Say whether steps tell about every attribute, and cost no class more than its limit; a cost above it raises.

    What was chosen must be a packing of classes that were paid for, and no other table of secrets is looked at after.
    """
    accountant, costs, tables = Accountant(limits), scope.costs, approach.tables(scope)
    allowed: set[Axes] = {*scope.single, *scope.exact, *([] if approach.chooses else tables)}
    for step in steps:
        if isinstance(step, Choice):
            paid = [costs.classes[number] for number in step.classes if number >= 0]
            told = [pairs for axes in step.chosen for pairs in costs.changes(axes)]
            known = approach.chooses and {*step.chosen} <= {*tables}
            if not known or not paid or not {*told} <= {*paid} or len(told) != len({*told}):
                return False
            charges = costs.of_choice(step.coefficient, tables)
            accountant.charge({pairs: charges[pairs] for pairs in paid if pairs in charges})
            allowed |= {*step.chosen}
        elif step.axes not in allowed or (not step.scale and costs.weights(step.axes)):
            return False
        elif step.scale:
            accountant.charge(costs.of_look(step.axes, step.scale))
    seen = {axis for step in steps if isinstance(step, Look) for axis in step.axes}
    return seen == {axis for (axis,) in scope.single}
