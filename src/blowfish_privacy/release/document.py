"""The release document: one JSON text with the noisy values and everything needed to check them.

Very many values are in a file beside it, whose hash it states (:class:`KeptValues`). It carries what was released, how,
and what that proves. It never carries a count, a hash or any other function of the private data but the noisy values
and, where the policy makes them public, the number of records and of those in each block that no secret pair leaves.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Population
from blowfish_privacy.privacy.measure import meanings, short
from blowfish_privacy.privacy.public_totals import Totals, blocks, selected_totals, stated_totals
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import Pattern, named
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import Plan, plan_notices
from blowfish_privacy.support.arrays import Integers
from blowfish_privacy.support.exact import show
from blowfish_privacy.support.files import make_durable, unfinished, write_atomically
from blowfish_privacy.version import __version__

# Noisy values that are too many for a document: they are kept in a file of their own, which the document names.
#
# The file is a NumPy array of 64-bit whole numbers (``.npy``). The document states its hash, and the file is named
# after that. Beside a ledger in a file there is a folder for such files, whose name ends in ``.values``. A file is
# complete and durable before its document is recorded, but waits under another name (``.pending``) until it is: the
# record decides which of several is handed out, :func:`settle` gives that one its name and removes the others, and a
# crash in between is mended when the release is asked for again.

MOST_IN_DOCUMENT = 5_000_000
"""Above so many values, a mechanism that draws them in pieces has them kept in a file."""

_TYPE = "<i8"
_CHUNK = 2**22


@dataclass(frozen=True)
class KeptValues:
    """What a document states of values that are kept in a file."""

    sha256: str
    number: int

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"values-{self.sha256[:32]}.npy"

    def to_document(self) -> dict[str, Any]:
        """Write what the document states."""
        return {"file": self.file, "sha256": self.sha256, "number": self.number}

    @classmethod
    def from_document(cls, stated: Any) -> Self:
        """Read what :meth:`to_document` writes; the name of the file follows from the hash."""
        made = cls(str(stated["sha256"]), int(stated["number"]))
        if stated != made.to_document():
            raise SpecError("the document is damaged: what it states of its values has the wrong form.")
        return made

    def read(self, folder: Path | None) -> npt.NDArray[np.int64]:
        """Map the file's values into memory, once it is certain that they are those of the document."""
        hint = f"keep {self.file} in the folder of the document."
        if folder is None:
            raise SpecError("the values are in a file beside the document.", hint="load the release from its file.")
        try:
            if _hash(folder / self.file) != self.sha256:
                raise SpecError(f"{self.file} was changed after it was written: its hash does not match.")
            values = np.asarray(np.load(folder / self.file, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError):
            raise SpecError(f"the file of the values, {self.file}, cannot be read.", hint=hint) from None
        if values.shape != (self.number,) or values.dtype != np.dtype(_TYPE):
            raise SpecError(f"{self.file} does not hold the values that the document states.", hint=hint)
        return values

    def copy(self, source: Path, target: Path) -> None:
        """Copy the file into another folder, completely or not at all."""
        if not (target / self.file).exists() or _hash(target / self.file) != self.sha256:
            write_atomically(target / self.file, _content(source / self.file))


Noisy: TypeAlias = npt.NDArray[np.int64] | KeptValues
"""Noisy values, or where they are kept."""


def check_room(folder: Path, number: int) -> None:
    """Refuse values for which the disk has no room."""
    needed, free = 8 * number, shutil.disk_usage(folder.parent).free
    if needed > free:
        raise DataError(
            f"the values need {needed / 1e9:.1f} GB beside the ledger, where {free / 1e9:.1f} GB are free.",
            hint="make room, or keep the ledger on another disk. Nothing was charged.",
        )


def keep(folder: Path, key: str, number: int, pieces: Iterable[npt.NDArray[np.int64]]) -> KeptValues:
    """Write values piece by piece; the file waits until its document is recorded under the key of the release."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        part = folder / f".{token_hex(8)}.part"
        with unfinished(str(part)):
            kept = _write(part, number, pieces)
            os.replace(part, folder / _pending(kept.file, key))
        make_durable(folder)
        return kept
    except OSError as error:
        reason = error.strerror
    raise DataError(f"the values cannot be written beside the ledger: {reason}.", hint="check the disk's free space.")


def settle(folder: Path, key: str, kept: KeptValues) -> None:
    """Give the file of a recorded document its name, and remove those that were not recorded under its key."""
    for path in folder.glob(_pending("*", key)):
        if path.name == _pending(kept.file, key):
            os.replace(path, folder / kept.file)
            make_durable(folder)
        else:
            path.unlink(missing_ok=True)


def _write(path: Path, number: int, pieces: Iterable[npt.NDArray[np.int64]]) -> KeptValues:
    digest, written = hashlib.sha256(), 0
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": _TYPE, "fortran_order": False, "shape": (number,)})
        file.seek(0)
        digest.update(file.read())
        for piece in pieces:
            content = piece.astype(_TYPE, copy=False).tobytes()
            file.write(content)
            digest.update(content)
            written += len(piece)
        file.flush()
        os.fsync(file.fileno())
    if written != number:
        raise DataError("the mechanism drew a different number of values than it stated.")
    return KeptValues(digest.hexdigest(), number)


def _pending(file: str, key: str) -> str:
    return f".{file}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.pending"


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while content := file.read(_CHUNK):
            yield content


# Public totals of a release: which ones its document publishes, and all that its estimates meet.

KEY = "public_totals"
"""Where a document has the exact counts of the blocks that no secret pair leaves, in the order of their first cells."""

_MOST_CELLS = 50_000_000
"""More cells than any document lists; only clusters have so many, and they need no list of them."""


def published(query: Query, policy: Policy, mechanism: Mechanism) -> Integers | None:
    """Return the block of each cell of a query, where the counts of blocks are public and not in the answer anyhow."""
    if query.on(policy.domain).pattern not in (Pattern.CELLS, Pattern.RANKS):
        return None
    labels = blocks(policy, query.attributes)
    return None if labels is None or int(labels.max()) < mechanism.exact_parts else labels


def words(query: Query, labels: Integers) -> str:
    """Say what a document publishes exactly beside its noisy values."""
    many = int(labels.max()) + 1
    return (
        f"how many records are in each of the {many:,} blocks of {named(query.attributes)} that no secret pair leaves"
    )


def read(written: Any, labels: Integers | None, records: int | None) -> Totals:
    """Read the totals of a document, and refuse numbers that cannot be the counts of its blocks."""
    whole = isinstance(written, list) and all(type(count) is int and count >= 0 for count in written)
    if labels is None or not whole or len(written) != int(labels.max()) + 1 or sum(written) != records:
        raise SpecError("the document is damaged: its public totals are not counts of the policy's blocks.")
    return Totals(labels, np.array(written, dtype=np.int64))


def constraints(
    query: Query, population: Population, records: int | None, counted: Totals | None
) -> Constraints | None:
    """Collect all public totals of a query's cells; None where the number of records is secret.

    Of some records only, those inside a box, stated facts say nothing, and cells outside the box are empty.
    """
    policy, box = population.whole, population.box
    if records is None or query.on(policy.domain).pattern not in (Pattern.CELLS, Pattern.RANKS):
        return None
    domain = query.own_domain(policy.domain)
    if domain.size > _MOST_CELLS:
        return None
    totals = [selected_totals(domain, box, records), *([] if counted is None else [counted])]
    stated = [] if box or population.groups else stated_totals(policy, query.attributes, records)
    return Constraints.of([*totals, *stated])


FORMAT = "blowfish-privacy release"
VERSION = 1
PACKAGE = "blowfish-privacy"
FORM: dict[str, Any] = {
    **dict.fromkeys(("name", "unit", "randomness", "time"), str),
    **dict.fromkeys(("query", "error", "mechanism", "guarantee", "policy", "package", "ledger"), dict),
    **dict.fromkeys(("post_processing", "notices"), list),
    "values": (list, dict),
    "records": int | None,
}
"""What a document states of the release, and of which kind each is."""
KEYS = {"format", "version", *FORM}
"""What every document has, besides its hash and its groups."""
PREDICTABLE = "NOT PRIVATE: made with predictable noise."


@dataclass(frozen=True)
class Randomness:
    """What a document says of the source of its random bits."""

    kind: str
    private: bool
    """Whether nobody can predict it."""


def write(plan: Plan, noisy: Noisy, *, source: Randomness, time: str, entry: int) -> dict[str, Any]:
    """Write the document of a release."""
    # What is written follows from the document alone: nothing is assumed.
    certificate, error = plan.certificate, plan.mechanism.expected_error()
    measure, amount, worst = certificate.loss.measure, certificate.amount, certificate.sensitivity
    meant = {short(delta): show(epsilon) for epsilon, delta in meanings(measure, amount)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": plan.name,
        "query": plan.asked(),
        "values": noisy.to_document() if isinstance(noisy, KeptValues) else noisy.tolist(),
        "unit": str(error.unit),
        "records": plan.records,
        "error": {"of": error.of, "mse": error.mse, "rmse": error.rmse, "within_95_in_100": error.interval("0.95")},
        "mechanism": plan.mechanism.to_document(),
        "guarantee": {
            measure.name: str(amount),
            **({"epsilon_at_delta": meant} if meant else {}),
            "statement": certificate.statement if source.private else "none: made with predictable noise",
            "policy_hash": certificate.policy_hash,
            "bounded_differential_privacy": certificate.differential_privacy,
            "sensitivity": str(worst.value),
            "sensitivity_is_exact": worst.exact,
            "theorem": worst.theorem,
            "witness": None if worst.witness is None else [[*map(_as_text, side)] for side in worst.witness],
            "proof": certificate.proof,
        },
        "policy": spec.policy_to_section(plan.policy),
        "post_processing": [],
        "notices": [*(each.as_planned for each in plan_notices(plan)), *([] if source.private else [PREDICTABLE])],
        "randomness": source.kind,
        "package": {"name": PACKAGE, "version": __version__},
        "time": time,
        "ledger": {"key": plan.key, "entry": entry},
    }


def dumps(body: dict[str, Any]) -> str:
    """Write a document as text, sealed with the hash of its content; one line for each key."""
    lines = _lines(body)
    sealed = {**lines, "sha256": json.dumps(_seal(lines))}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {value}" for key, value in sealed.items()) + "\n}\n"


def seal(body: dict[str, Any]) -> str:
    """Hash the content of a document, in a form that does not depend on layout."""
    return _seal(_lines(body))


def _lines(body: dict[str, Any]) -> dict[str, str]:
    content = ((key, value) for key, value in body.items() if key != "sha256")
    # The order inside a value is kept: the order of a domain's attributes has a meaning.
    return {key: json.dumps(value) for key, value in content}


def _seal(lines: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for key in sorted(lines):
        digest.update(f"{json.dumps(key)}: {lines[key]}\n".encode())
    return digest.hexdigest()


def _as_text(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in record.items()}
