"""The details of a choice: how far, how wide, where to cut, which groups, which level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from blowfish_privacy.domain import Attribute, Hierarchy
from blowfish_privacy.errors import PolicyError
from blowfish_privacy.studio.parts.following import follow
from blowfish_privacy.studio.parts.live import live
from blowfish_privacy.studio.parts.words import note
from blowfish_privacy.studio.rooms.secret_groups import groups_control
from blowfish_privacy.studio.secret_choice import Kind, cuts_choice, cuts_of, threshold_choice, width_choice
from blowfish_privacy.studio.value_text import position_of
from blowfish_privacy.support.exact import positive, show

if TYPE_CHECKING:
    from blowfish_privacy.studio.rooms.secret_card import SecretCard

_MOST_SHOWN = 30


def threshold_control(card: SecretCard) -> None:
    """Choose how far apart values may be and still be secret from each other: a handle on a ruler, and a number."""
    attribute = card.policy.domain[card.name]
    stops = _stops(attribute.gap(0, attribute.size - 1)) if attribute.gap(0, 1) == 1 else _gaps(attribute)
    _ruler(card, "At most so far apart", stops, lambda choice: choice["threshold"], threshold_choice)


def width_control(card: SecretCard) -> None:
    """Choose how wide blocks are."""
    size = card.policy.domain[card.name].size
    _ruler(card, "Width of a block", _stops(Fraction(size)), _width, width_choice)


def _width(choice: Any) -> Any:
    width = choice["partition"]["widths"]
    return next(iter(width.values())) if isinstance(width, dict) else width


def _ruler(
    card: SecretCard,
    label: str,
    stops: Sequence[Fraction],
    read: Callable[[Any], Any],
    write: Callable[[Fraction], Any],
) -> None:
    """Offer a handle that moves from stop to stop, and a field for any number."""
    kind = card.kind

    def now() -> Fraction:
        return positive(read(card.choice), label, error=PolicyError)

    with ui.column().classes("gap-1 w-full"):
        handle = ui.slider(min=0, max=len(stops) - 1, step=1, value=_nearest(stops, now())).classes("px-2")
        handle.props["aria-label"] = f"{label}: {card.name}"
        field = ui.input(label, value=show(now()), validation=_wrong_number).classes("w-full").props("outlined dense")

    def tell() -> None:
        # The handle itself only knows the number of its stop.
        handle.props["aria-valuetext"] = show(stops[int(handle.value or 0)])

    def dragged() -> None:
        tell()
        field.set_value(show(stops[int(handle.value or 0)]))
        card.preview(write(stops[int(handle.value or 0)]))

    def take(number: Fraction) -> None:
        if number == now() or not card.change(write(number)):
            in_step()
            card.redraw()

    def typed() -> None:
        if _wrong_number(field.value) is None:
            take(positive(field.value, label, error=PolicyError))

    def in_step() -> None:
        """Show what the file says, after an undo or a change in the editor."""
        if card.exists and card.kind == kind:
            field.set_value(show(now()))
            handle.set_value(_nearest(stops, now()))
            tell()

    tell()
    handle.on("update:model-value", dragged, throttle=0.1)
    handle.on("change", lambda: take(stops[int(handle.value or 0)]))
    field.on("blur", typed)
    field.on("keydown.enter", typed)
    seen = [now()]

    def follow_file() -> None:
        if card.exists and card.kind == kind and now() != seen[0]:
            seen[0] = now()
            in_step()

    follow(field, follow_file, card.workshop.changed)


def cuts_control(card: SecretCard) -> None:
    """Cut an ordered attribute into blocks: add a cut, or join a block with the one before."""
    attribute = card.policy.domain[card.name]

    def cut() -> None:
        at = position_of(attribute, str(field.value or ""))
        if not at:
            field.error = f"choose a value after {attribute.show(0)}, up to {attribute.show(attribute.size - 1)}"
            return
        field.error = None
        if card.change(cuts_choice(attribute, [*(cuts_of(card.graph) or []), at])):
            field.set_value("")

    with ui.row().classes("items-start gap-3 w-full no-wrap"):
        field = ui.input("Cut before").classes("flex-1").props("outlined dense")
        ui.button("Cut", icon="content_cut", on_click=cut).props("outline no-caps")
    field.on("keydown.enter", cut)
    live(lambda: _blocks(card), card.workshop.changed, shows=lambda: card.exists and cuts_of(card.graph))


def _blocks(card: SecretCard) -> None:
    attribute = card.policy.domain[card.name]
    cuts = (cuts_of(card.graph) or []) if card.exists else []
    starts = [0, *cuts]
    ends = [*(cut - 1 for cut in cuts), attribute.size - 1]
    with ui.column().classes("gap-1 w-full"):
        for first, last in [*zip(starts, ends, strict=True)][:_MOST_SHOWN]:
            said = attribute.show(first) if first == last else f"{attribute.show(first)} to {attribute.show(last)}"
            with ui.row().classes("studio-block items-center w-full no-wrap"):
                ui.label(said).classes("flex-1")
                if first:
                    joined = cuts_choice(attribute, [cut for cut in cuts if cut != first])
                    join = ui.button(icon="vertical_align_top", on_click=partial(card.change, joined))
                    join.props("flat round dense").props["aria-label"] = f"Join {said} with the block before"
                    join.tooltip("Join with the block before")
    if len(starts) > _MOST_SHOWN:
        note(f"And {len(starts) - _MOST_SHOWN:,} more blocks.")


def within_control(card: SecretCard) -> None:
    """Choose the level of the hierarchy below whose names values are secret from each other."""
    attribute = card.policy.domain[card.name]
    if not isinstance(attribute, Hierarchy):
        return
    levels = [*attribute.level_sizes.items()][:-1]
    field = ui.select({name: f"{name} ({many:,})" for name, many in levels}, value=_level(card), label="Below the same")
    field.classes("w-full").props("outlined dense")
    field.on_value_change(lambda event: card.change({"within": event.value}))

    def in_step() -> None:
        if card.exists and card.kind == "within":
            field.set_value(_level(card))

    follow(field, in_step, card.workshop.changed)


def _level(card: SecretCard) -> str:
    choice = card.choice["within"]
    return next(iter(choice.values())) if isinstance(choice, dict) else choice


CONTROLS: dict[Kind, Callable[[SecretCard], None]] = {
    "threshold": threshold_control,
    "width": width_control,
    "cuts": cuts_control,
    "groups": groups_control,
    "within": within_control,
}


def _wrong_number(text: Any) -> str | None:
    try:
        positive(str(text or ""), "it", error=PolicyError)
    except PolicyError:
        return "a number above 0"
    return None


def _stops(longest: Fraction) -> list[Fraction]:
    """Return the places of a handle: every whole number, or round ones where there are many."""
    if longest <= 100:
        return [Fraction(stop) for stop in range(1, max(2, int(longest) + 1))]
    stops: list[Fraction] = []
    power = Fraction(1)
    while power <= longest:
        stops += [times * power for times in (1, 2, 3, 5, 7) if times * power <= longest]
        power *= 10
    return stops


def _gaps(attribute: Attribute) -> list[Fraction]:
    """Return the distances between bins: only there a threshold changes anything."""
    starts = range(attribute.size) if attribute.size <= _MOST_SHOWN else range(1)
    gaps = {attribute.gap(start, end) for start in starts for end in range(start + 1, attribute.size)}
    return sorted(gap for gap in gaps if gap) or [Fraction(1)]


def _nearest(stops: Sequence[Fraction], number: Fraction) -> int:
    return min(range(len(stops)), key=lambda at: abs(stops[at] - number))
