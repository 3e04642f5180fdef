"""A table of texts, as HTML has it: screen readers know their way in it, and it scrolls by itself where it is wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement


def plain_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    actions: Callable[[int], None] | None = None,
) -> None:
    """Show rows below a header; ``actions`` fills a last cell of each row, which stays in sight, given its number."""
    with (
        ui.element("div").classes("studio-scroll").props("tabindex=0 role=region") as region,
        ui.element("table").classes("studio-table" if actions is None else "studio-table studio-acting"),
    ):
        region.props["aria-label"] = caption or ", ".join(header)
        if caption:
            TextElement(tag="caption", text=caption)
        with ui.element("thead"), ui.element("tr"):
            for name in header:
                TextElement(tag="th", text=name).props("scope=col")
            if actions is not None:
                with ui.element("th").props("scope=col"):
                    TextElement(tag="span", text="Actions").classes("sr-only")
        with ui.element("tbody"):
            for number, row in enumerate(rows):
                with ui.element("tr"):
                    for cell in row:
                        TextElement(tag="td", text=cell)
                    if actions is not None:
                        with ui.element("td"):
                            actions(number)
