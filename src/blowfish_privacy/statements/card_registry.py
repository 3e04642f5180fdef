"""A card in the fields of the public registry of differential privacy deployments [nanayakkara2025].

A release document cannot fill all of them: who curates the data for what use, and why these choices were made, is for
the publisher to add.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from blowfish_privacy.statements.card_layout import Card


def card_view(card: Card) -> dict[str, Any]:
    """Show a card as plain values for JSON, with the registry's fields."""
    view = {field.name: getattr(card, field.name) for field in fields(card)}
    sections = [
        {"title": part.title, "items": [{"label": item.label, "text": item.text} for item in part.items]}
        for part in view.pop("sections")
    ]
    if card.releases is None:
        del view["releases"]
    return {**view.pop("parameters"), **view, "sections": sections, "registry": registry(card)}


def registry(card: Card) -> dict[str, Any]:
    """Fill the fields that a release document can fill."""
    return {
        "product": {
            "name": card.name,
            "data_curators": [] if card.publisher is None else [card.publisher],
            "data_product_type": "Summary statistics",
            "description": " ".join(card.said("Statistic")) if card.releases is None else card.summary,
            "publication_date": card.time[:10] or None,
        },
        "dp_flavor": {
            "name": card.flavour,
            "data_domain": " ".join(card.said("Values a record can have")),
            "unprotected_quantities": card.said("No noise", "Unprotected", "Exact or assumed known"),
        },
        "privacy_loss": {
            "privacy_unit": "Person-level",
            "privacy_unit_description": " ".join(card.said("Privacy unit", "Protected")).replace(
                "as strongly as Strength says", f"as strongly as {next(iter(card.parameters))} says"
            ),
            "privacy_parameters": card.parameters,
            "privacy_parameters_description": " ".join(card.said("Strength", "Further apart", "Warning")),
        },
        "model": {
            "model_name": "Central",
            "release_type": "One release" if card.releases is None else f"{card.releases:,} releases together",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "composition": " ".join(card.said("Parts", "Composition")),
            "post_processing": " ".join(card.said("Post-processing")),
        },
        "implementation": {"mechanisms": " ".join(card.said("Mechanism", "Sensitivity", "Randomness"))},
    }
