"""Whether known facts make records move together; the searches are loaded only where there are facts."""

from __future__ import annotations

from blowfish_privacy.known_facts.facts.assumptions import Assumptions


def crosses(policy: Assumptions) -> bool:
    """Say whether a secret pair changes a known count, so that records have to move together."""
    if not policy.known:
        return False
    from blowfish_privacy.known_facts.classes.fact_model import fact_model

    return fact_model(policy, ()).crossing.exists
