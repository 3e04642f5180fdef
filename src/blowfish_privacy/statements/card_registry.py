"""A card in the fields of the public registry of differential privacy deployments [nanayakkara2025].

A release document cannot fill all of them: who curates the data for what use, and why these choices were made, is for
the publisher to add.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any, cast

from blowfish_privacy.statements.card_layout import Card, Section


def card_view(card: Card) -> dict[str, Any]:
    """Show a card as plain values for JSON, with the registry's fields."""
    view = {field.name: getattr(card, field.name) for field in fields(card)}
    del view["sections"]
    if card.releases is None:
        del view["releases"]
    sections = [_section_view(section) for section in card.sections]
    return {**view.pop("parameters"), **view, "sections": sections, "registry": registry(card)}


def is_card_view(view: Any) -> bool:
    """Say whether something read from JSON is a card."""
    return isinstance(view, dict) and {"summary", "sections", "registry"} <= {*cast("dict[str, Any]", view)}


def _section_view(section: Section) -> dict[str, Any]:
    items = [{"label": item.label, "text": item.text} for item in section.items]
    view: dict[str, Any] = {"title": section.title, "items": items}
    return view if section.table is None else {**view, "table": asdict(section.table)}


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
            "privacy_parameters_description": " ".join(
                [*card.said("Strength"), *_tables(card), *card.said("Further apart", "Warning")]
            ),
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


def _tables(card: Card) -> Iterator[str]:
    """Write the tables of a card as sentences, one for each row."""
    for table in (section.table for section in card.sections if section.table is not None):
        about, *columns = table.header
        for named, *cells in table.rows:
            said = ", ".join(
                f"{column[0].lower()}{column[1:]} {cell}" for column, cell in zip(columns, cells, strict=True)
            )
            yield f"{about} {named}: {said}."
