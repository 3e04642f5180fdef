"""The form of a policy file, some of whose releases may be wrong by themselves."""

from __future__ import annotations

from typing import Any

from blowfish_privacy.errors import SpecError
from blowfish_privacy.release.file_form import check_file, check_release
from blowfish_privacy.release.file_places import Locator
from blowfish_privacy.release.planned_release import Unplanned
from blowfish_privacy.support.limits import RELEASES


def checked_in_part(whole: Any, at: Locator) -> tuple[dict[str, Any], dict[int, Unplanned]]:
    """Check the form of a file, apart from releases that are wrong by themselves."""
    try:
        return check_file(whole, at.line), {}
    except SpecError as error:
        listed: Any = whole.get("releases") if isinstance(whole, dict) else None
        if not isinstance(listed, list) or not listed:
            raise
        # Raises what is wrong elsewhere in the file.
        body, problem = check_file({**whole, "releases": []}, at.line), error
    releases: list[Any] = []
    wrong: dict[int, Unplanned] = {}
    for number, entry in enumerate(listed[:RELEASES]):
        try:
            releases.append(check_release(whole, number, at.line))
        except SpecError as error:
            name = entry.get("name") if isinstance(entry, dict) else None
            wrong[number] = Unplanned(name if isinstance(name, str) else None, error)
            releases.append(None)
    if not wrong or len(listed) > RELEASES:
        raise problem
    return {**body, "releases": releases}, wrong
