"""From an answer to a recorded document: errors on the way show no count, and say what was charged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blowfish_privacy.errors import BlowfishError, DataError
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.release import document
from blowfish_privacy.release.kept_values import KeptValues, settle


def record_answer(ledger: Ledger, entry: Entry, answer: Callable[[], dict[str, Any]]) -> str:
    """Record the answer to a charge and return its document; what goes wrong says what was charged."""
    try:
        return ledger.record(entry.key, _out_of_sight(answer))
    except BlowfishError as error:
        failed = type(error)(f"{error.message} {_charged(entry)}", hint=error.hint)
    except BaseException as error:
        error.add_note(_charged(entry))
        raise
    raise failed


def settled(folder: Path | None, key: str, text: str) -> str:
    """Return a document that is recorded, once its values, if they are kept in a folder, have their name there."""
    values = None if folder is None else json.loads(text)["values"]
    if folder is not None and isinstance(values, dict):
        settle(folder, key, KeptValues.from_document(values))
    return text


def _charged(entry: Entry) -> str:
    if not entry.charged:
        return "Nothing was charged."
    cost = entry.loss.measure.brief(entry.charged)
    return (
        f"Its cost, {cost}, was charged (entry {entry.number} of the ledger) and stays spent. Correct the data, and "
        "the same release costs nothing more. Change the declaration, and it is a release under another policy: it is "
        "charged again, or refused by this ledger where the two policies do not add up; blowfish plan says which, "
        "before anything is spent."
    )


def _out_of_sight(answer: Callable[[], dict[str, Any]]) -> str:
    """Run what handles exact counts, and noisy ones that are not recorded yet; return the document.

    An error leaves without the frames in which a traceback would show them.
    """
    try:
        return document.dumps(answer())
    except BlowfishError as error:
        clean = type(error)(error.message, hint=error.hint)
    except Exception as error:
        clean = DataError(f"the release stopped at an internal error ({type(error).__name__}); nothing was handed out.")
    raise clean
