"""How much components change together between neighbours, in squares; known facts included."""

from __future__ import annotations

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.known_facts.facts import crosses
from blowfish_privacy.mechanisms.tables.gaussian.component_form import ComponentForm
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Norm, Sensitivity, squared_sensitivity


def component_squares(form: ComponentForm, policy: Policy) -> Sensitivity:
    """Derive the largest weighted sum of squared changes between neighbours."""
    if not crosses(policy):
        return squared_sensitivity(form, policy)
    from blowfish_privacy.known_facts.theorems import most_secret_moves

    moves = most_secret_moves(policy, form.domain.names)
    if moves is None:
        raise RefusalError(
            "secret pairs and known facts cross each other, and Gaussian noise on components of tables does not cover "
            "records that move together anywhere.",
            hint="ask for Laplace noise; if attackers already know each record up to its secret pairs, compensation: "
            "secret-moves may be enough.",
        )
    _, value, _ = form.largest_squares(policy.graph.project(form.domain.names))
    theorem = f"at most {moves} records move together along secret pairs, in squares"
    return Sensitivity(moves**2 * value, not value, theorem, None, Norm.L2)
