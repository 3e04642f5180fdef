"""What the studio begins with, and what it leaves behind when it ends with something unsaved."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.results.files import is_release
from blowfish_privacy.studio.declaring import with_data
from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.workshop import Workshop
from blowfish_privacy.support import yaml_edit
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.postgresql import is_address

_POLICY_FILES = (".yaml", ".yml", ".json")
_KEPT = ".draft"


def opened(file: str | None) -> tuple[Workshop, list[str]]:
    """Begin with a policy file, with a table that has none yet, or with nothing; and what there is to say about it."""
    if file is None:
        return Workshop(Draft(folder=Path.cwd()), plan=False), []
    path = Path(file)
    if is_release(path):
        raise SpecError(f"{file} is a release, no policy file.", hint="name the policy file that it was made with.")
    draft = Draft.open(path) if path.suffix.lower() in _POLICY_FILES else _for_table(file, path)
    workshop = Workshop(draft, plan=False)
    kept = [each for each in _places(workshop) if each.exists()]
    return workshop, [f"{each} has what was not saved when a studio ended." for each in kept]


def keep_unsaved(workshop: Workshop) -> Path | None:
    """Write a text that was changed and not saved beside its file; return where, if there is one.

    Where that cannot be done, because the disk is full, say, the text goes to the system's temporary folder.
    """
    draft = workshop.draft
    if draft.saved or not draft.can_undo:
        return None
    content = draft.text.encode()
    try:
        return _kept_beside(workshop, content)
    except DataError as error:
        reason = error.message
    try:
        return _kept_elsewhere(f"{workshop.suggested_path.name}{_KEPT}", content)
    except (DataError, OSError):
        # What the second place had to say would not help: the first one is where the text belongs.
        raise DataError(
            f"what was not saved is lost: {reason}", hint="nothing could be written to the temporary folder either."
        ) from None


def _kept_beside(workshop: Workshop, content: bytes) -> Path:
    for place in _places(workshop):
        try:
            if not place.exists():
                write_atomically(place, content)
            elif place.read_bytes() != content:
                continue
        except OSError as error:
            raise DataError(f"{place} cannot be read: {error.strerror}.") from None
        return place
    raise DataError("too many drafts are kept beside it.")


def _kept_elsewhere(name: str, content: bytes) -> Path:
    """Write into a new folder that only this user can enter."""
    folder = Path(mkdtemp(prefix="blowfish-draft-"))
    try:
        write_atomically(folder / name, content)
    except DataError:
        folder.rmdir()
        raise
    return folder / name


def _for_table(file: str, path: Path) -> Draft:
    if is_address(file):
        return Draft(yaml_edit.edited("", with_data({}, file)), folder=Path.cwd())
    if not path.exists():
        raise SpecError(f"there is no {file}.", hint="name a policy file (.yaml), a table, or nothing.")
    # Saved beside its table, the file stays where it was, so that nothing need be planned anew.
    return Draft(yaml_edit.edited("", with_data({}, path.name)), folder=path.absolute().parent)


def _places(workshop: Workshop) -> list[Path]:
    own = workshop.suggested_path
    return [own.with_name(f"{own.name}{_KEPT}{number}") for number in ("", *(f"-{each}" for each in range(2, 100)))]
