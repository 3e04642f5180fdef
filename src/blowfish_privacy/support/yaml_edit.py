"""Change values in a YAML text and leave the rest of it as it stands."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.support import yaml_text


def edited(text: str, body: Any) -> str:
    """Write new plain values into a YAML text, with as few changed lines as possible."""
    return text if yaml_text.parse(text) == body else yaml_text.write(body)
