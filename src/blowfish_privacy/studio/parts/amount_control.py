"""An amount on a slider with round stops, and beside it the exact number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from nicegui import ui

from blowfish_privacy.studio.amounts import Amount, amounts, nearest, read_amount, why_not, written
from blowfish_privacy.support.exact import readable


class AmountControl:
    """A slider on a logarithmic scale and a field for the number; ``choose`` is called when a person has chosen."""

    def __init__(
        self,
        key: str,
        title: str,
        amount: Amount,
        choose: Callable[[Amount], None],
        preview: Callable[[Amount], str] = lambda amount: "",
    ) -> None:
        self._stops, self._choose, self._preview = amounts(key), choose, preview
        self._shown, self._title = amount, title
        with ui.row().classes("w-full items-center gap-4 no-wrap"):
            least, most = written(self._stops[0]), f"{self._stops[-1]:,f}"
            ui.label(least).classes("studio-note").props("aria-hidden=true")
            self._slider = (
                ui.slider(min=0, max=len(self._stops) - 1, step=1, value=self._stop)
                .props(f'label aria-label="{title}, on a scale from {least} to {most}"')
                .classes("flex-1 min-w-0")
            )
            ui.label(most).classes("studio-note").props("aria-hidden=true")
            self._field = ui.input(title, value=written(amount)).props("dense outlined no-error-icon hide-bottom-space")
            self._field.classes("w-28")
        self._words = ui.label().classes("studio-note").props("aria-live=polite").style("min-height: 1.3rem")
        self._say()
        # While the handle moves only the number follows; the file changes when it is let go.
        self._slider.on("update:model-value", self._moving, throttle=0.05)
        self._slider.on("change", self._let_go)
        self._field.on("keydown.enter", self._typed)
        self._field.on("blur", self._typed)

    def show(self, amount: Amount) -> None:
        """Show another amount, which came from elsewhere."""
        if amount != self._shown:
            self._shown = amount
            self._slider.value, self._field.value = self._stop, written(amount)
            self._say()
            self._refuse(None)

    @property
    def _stop(self) -> int:
        return nearest(Fraction(self._shown), self._stops)

    def _say(self) -> None:
        text = readable(Fraction(self._shown))
        self._slider.props(f'label-value="{text}" aria-valuetext="{text}"')

    def _moving(self, event: Any) -> None:
        stop = self._stops[int(event.args)]
        text = written(stop)
        self._refuse(None)
        self._field.value, self._words.text = text, self._preview(stop)
        self._slider.props(f'label-value="{text}" aria-valuetext="{text}"')

    def _let_go(self, event: Any) -> None:
        self._words.text = ""
        self._take(self._stops[int(event.args)])

    def _typed(self) -> None:
        amount = read_amount(self._field.value)
        self._refuse(why_not(self._field.value, self._title))
        if amount is not None:
            self._take(amount)

    def _refuse(self, why: str | None) -> None:
        """Say why what was typed is not taken; it stays in its field, to be mended."""
        self._words.text = "" if why is None else f"{why} The file keeps {written(self._shown)}."
        if why is None:
            self._field.props(remove="error aria-invalid")
        else:
            self._field.props("error aria-invalid=true")

    def _take(self, amount: Amount) -> None:
        if amount != self._shown:
            self.show(amount)
            self._choose(amount)
