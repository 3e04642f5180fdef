"""A chart on the page, with its title and what must be said about it."""

from __future__ import annotations

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.studio.charts.look import Option
from blowfish_privacy.studio.charts.picture import Picture
from blowfish_privacy.studio.parts.words import note


def chart(option: Option, height: int = 360) -> ui.echart:
    """Show a chart as wide as its place; it is described to those who cannot see it."""
    shown = ui.echart(option, renderer="svg").classes("w-full").style(f"height: {height}px").props("role=img")
    shown.props["aria-label"] = option["aria"]["label"]["description"]
    return shown


def picture(shown: Picture, *, titled: bool = True) -> None:
    """Show a picture: its title, unless it stands right above already, the chart, and its note."""
    with ui.column().classes("w-full gap-1"):
        if titled:
            TextElement(tag="h3", text=shown.title).classes("text-base font-semibold m-0")
        chart(shown.option, shown.height)
        if shown.note:
            note(shown.note)
