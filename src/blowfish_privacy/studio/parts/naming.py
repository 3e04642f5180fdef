"""Names for elements that a library makes by itself, for those who hear a page instead of seeing it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nicegui import ui

_NAMING = """
for (const [selector, name] of Object.entries(%s)) {
  const give = () => {
    const element = document.querySelector(selector);
    if (!element) return setTimeout(give, 50);
    element.setAttribute("aria-label", name);
    if (element.isContentEditable) element.setAttribute("tabindex", "0");
  };
  give();
}
"""


def name_elements(names: Mapping[str, str]) -> None:
    """Name elements of this page by CSS selectors, as soon as they are there; an editor can be reached by Tab too."""
    script = _NAMING % json.dumps(dict(names))
    ui.context.client.on_connect(lambda: ui.run_javascript(script))
