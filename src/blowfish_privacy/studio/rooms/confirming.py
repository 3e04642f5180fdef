"""The question before anything is spent: for what, how much, and what stays unprotected."""

from __future__ import annotations

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.statements.plan import HEADER, Confirmation
from blowfish_privacy.studio.draft import Problem
from blowfish_privacy.studio.parts.plain_table import plain_table
from blowfish_privacy.studio.parts.words import notice, problem_card, section
from blowfish_privacy.studio.publishing import Offer
from blowfish_privacy.studio.workshop import Workshop

_SIZE = "width: 46rem; max-width: 94vw; max-height: 90vh; overflow: hidden; flex-wrap: nowrap"
_SCROLLING = "flex: 1 1 auto; min-height: 6rem; overflow: auto"


def confirm(workshop: Workshop, offer: Offer, text: str) -> None:
    """Ask about what was offered for a text of the file; yes saves the file and begins to publish."""
    said = offer.confirmation
    with ui.dialog().props('aria-label="Confirm"') as dialog, ui.card().classes("studio-card").style(_SIZE):
        with ui.column().classes("w-full gap-3 no-wrap studio-more").style(_SCROLLING) as read:
            read.props("tabindex=0 role=region").props["aria-label"] = "What you confirm"
            # What is spent comes first: the lists below it may be longer than the window.
            _spent(said)
            if not workshop.draft.saved:
                notice("The file has changes that are not saved: it is saved first.", icon="save")
            _unprotected(said)
            _what(said)
        # The question stays in sight however long the rest is.
        problems = ui.column().classes("w-full empty:hidden")
        _buttons(workshop, offer, text, dialog, problems)
    dialog.open()


def _what(said: Confirmation) -> None:
    section("What will be published")
    rows = [(each.name, each.query, each.cost, each.error) for each in said.releases]
    plain_table(["release", "what", "costs", "typical error"], rows)


def _spent(said: Confirmation) -> None:
    section("What is spent")
    for sentence in said.spending:
        ui.label(sentence)
    if said.balances:
        plain_table(HEADER, said.balances)
    if said.spends:
        ui.label("It cannot be undone: what is published is known, and what is spent stays spent.")
        ui.label("A row that does not fit the declarations stops a release after it is charged: check the data first.")


def _unprotected(said: Confirmation) -> None:
    section("What is not protected")
    with ui.element("ul").classes("m-0 pl-5 list-disc"):
        for sentence in said.unprotected:
            TextElement(tag="li", text=sentence)
    for each in said.releases:
        for words in each.notices:
            notice(f"{each.name}: {words}", icon="warning")


def _buttons(workshop: Workshop, offer: Offer, text: str, dialog: ui.dialog, problems: ui.column) -> None:
    def begin() -> None:
        problems.clear()
        try:
            workshop.publish(offer, text)
        except BlowfishError as error:
            with problems:
                problem_card(Problem.of(error))
            return
        dialog.close()

    ui.separator()
    ui.label(offer.confirmation.question).classes("text-lg font-semibold")
    with ui.row().classes("w-full justify-end gap-3"):
        ui.button("Cancel", on_click=dialog.close).props("flat no-caps autofocus")
        words = "Yes, spend and publish" if offer.confirmation.spends else "Yes, hand it out"
        ui.button(words, icon="outbox", on_click=begin).props("no-caps")
