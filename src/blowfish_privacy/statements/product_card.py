"""A statement about all releases of a ledger together, for publication: the index page of a product.

Everything comes from the documents that the ledger handed out, which are public, and from its balances. A ledger or a
document that does not verify gets no statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from blowfish_privacy.domain import quoted, worded
from blowfish_privacy.errors import SpecError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.release.verification import Product, Released, read_product
from blowfish_privacy.results import from_text
from blowfish_privacy.results.files import AnyResult, FilesBeside, files_beside, values_file
from blowfish_privacy.statements.card import parameters, tidied
from blowfish_privacy.statements.card_layout import Card, Item, Picture, Section
from blowfish_privacy.statements.card_words import METHOD, POST_PROCESSING, definition, flavour, made_with, name, year
from blowfish_privacy.statements.notices import on_exactness
from blowfish_privacy.statements.product_loss import ProductLoss
from blowfish_privacy.statements.product_releases import charge_words, named, release_words
from blowfish_privacy.statements.product_strength import loss_table, protected, summary
from blowfish_privacy.statements.product_unprotected import unprotected_in

_LARGEST_DRAWING = 400_000
"""Bytes of an SVG above which a page holds a picture as PNG instead."""


def make_product_card(
    ledger: Ledger, *, title: str | None = None, publisher: str | None = None, folder: Path | None = None
) -> Card:
    """State what all releases of a ledger protect together; refuse where the ledger or a document does not verify.

    ``title`` is what the product is called, by default as its ledger. Files of the releases that lie in the folder,
    where the page will be, are offered for download.
    """
    product = read_product(ledger)
    files = None if folder is None else product_files(product, folder)
    return product_card(product, title=title, publisher=publisher, files=files)


def product_files(product: Product, folder: Path) -> dict[int, FilesBeside]:
    """Find the files of each release that lie in a folder, by the number of its entry; none where there are none."""
    return {
        each.entry.number: files_beside(
            from_text(each.text, product.folder), folder, partial(product.may_be_called, each)
        )
        for each in product.released
    }


def product_card(
    product: Product,
    *,
    title: str | None = None,
    publisher: str | None = None,
    files: Mapping[int, FilesBeside] | None = None,
) -> Card:
    """State what the releases of a product that was read protect together; ``files`` are those of each release."""
    refuse_unsound(product)
    called = title or product.ledger.name.removesuffix(".ledger")
    return _ProductCardWriter(product, called, publisher, files).card()


def refuse_unsound(product: Product) -> None:
    """Refuse a product of which something does not verify, since nothing can be stated about it."""
    if product.problems:
        raise SpecError(
            f"the releases do not verify, so nothing can be stated about them: {' '.join(product.problems[:3])}",
            hint="blowfish verify lists all problems, for the same file or ledger.",
        )


@dataclass(frozen=True, eq=False)
class _ProductCardWriter:
    """Writes the sections of a product's card."""

    product: Product
    called: str
    publisher: str | None
    files: Mapping[int, FilesBeside] | None

    def card(self) -> Card:
        product, loss = self.product, ProductLoss(self.product)
        sections = (
            Section("What was published", tuple(self._published())),
            Section("What all of it lost, and how strongly it protects", tuple(protected(loss)), loss_table(loss)),
            Section("What is not protected", tuple(unprotected_in(loss))),
            Section("Pictures", (), pictures=tuple(self._pictures())),
            Section("How it was made", tuple(self._made())),
            Section("Other releases", tuple(self._composition())),
            Section("How to check and cite it", tuple(self._cite())),
        )
        return Card(
            name(self.called),
            summary(loss),
            tuple(tidied(section) for section in sections if section.items or section.pictures),
            parameters=parameters(product.measure, product.spent),
            time=name(self._time),
            publisher=None if self.publisher is None else name(self.publisher),
            differential_privacy=is_differential_privacy(product.policy),
            flavour=flavour(product.policy, product.measure),
            releases=len(product.released),
        )

    @property
    def _time(self) -> str:
        """When the last release was made; empty if nothing was handed out."""
        return next((str(each.body["time"]) for each in reversed(self.product.released)), "")

    def _published(self) -> Iterator[Item]:
        for each in self.product.released:
            said = f"{release_words(each, self.product)}{self._not_beside(each)}"
            yield Item(named(each, self.product), said, self._files_of(each))
            cautions = each.main.query.cautions().items()
            yield from (Item(heading, f"{named(each, self.product)}: {said}") for heading, said in cautions)
            if each.plan.amount:
                notices = on_exactness(each.parts)
                yield from (Item("Note", f"{named(each, self.product)}: {notice}") for notice in notices)
        for entry in self.product.unreleased:
            yield Item("Charged, not handed out", charge_words(entry))
        if self.product.released:
            by = f", by {name(self.publisher)}" if self.publisher else ""
            yield Item("Published", f"{name(self._time)}{by}.")

    def _beside(self, each: Released) -> FilesBeside:
        return FilesBeside() if self.files is None else self.files.get(each.entry.number, FilesBeside())

    def _files_of(self, each: Released) -> tuple[str, ...]:
        return tuple(path.name for path in self._beside(each).own)

    def _not_beside(self, each: Released) -> str:
        """Say which files of a release are not offered."""
        beside = self._beside(each)
        if self.files is not None and not beside.own:
            return " Its files are not beside this page."
        names = ", ".join(quoted(path.name) for path in beside.foreign)
        return f" Beside this page, but not what was released: {names}." if names else ""

    def _pictures(self) -> Iterator[Picture]:
        for each in self.product.released:
            made = from_text(each.text, self.product.folder)
            if values_file(made) is None:
                drawn = (file for file in self._files_of(each) if file.endswith(".png"))
                yield Picture(named(each, self.product), partial(_draw, made), next(drawn, None))

    def _made(self) -> Iterator[Item]:
        product = self.product
        yield Item("Definition", definition(product.policy, product.measure))
        if not product.released:
            return
        for each in product.released:
            yield Item("Mechanism", f"{named(each, product)}: {made_with(each.parts)}")
        sources = dict.fromkeys(str(each.body["randomness"]) for each in product.released if each.plan.amount)
        yield Item("Randomness", f"{', '.join(sources)}; exact integer noise" if sources else "None: without noise.")
        proofs = dict.fromkeys(each.plan.certificate.proof for each in product.released if each.plan.amount)
        yield Item("Proof", f"In the documentation: {', '.join(['docs/proofs/classes.md', *proofs])}")
        versions = dict.fromkeys(str(each.body["package"]["version"]) for each in product.released)
        yield Item("Software", f"blowfish-privacy {', '.join(worded(name(version)) for version in versions)}")

    def _composition(self) -> Iterator[Item]:
        every = len(self.product.released) + len(self.product.unreleased)
        charges = "its one charge" if every == 1 else f"all its {every:,} charges"
        yield Item(
            "Composition",
            f"The sums are those of the publisher's ledger, with {charges}. What other ledgers released about the same "
            "people is not in them, and adds up with it.",
        )
        yield Item("Post-processing", POST_PROCESSING)

    def _cite(self) -> Iterator[Item]:
        product = self.product
        yield Item(
            "Check",
            "blowfish verify derives guarantee and error of each release anew from its document; for the custodian of "
            "the ledger it checks all of them, and that they add up to what is stated here.",
        )
        for each in product.released:
            yield Item("Documents", f"{named(each, product)}: sha256 {each.body['sha256']}")
        policies = dict.fromkeys([product.policy.hash, *(each.plan.policy.hash for each in product.released)])
        yield from (Item("Policy", f"sha256 {policy}") for policy in policies)
        if product.released:
            yield Item("Cite as", self._citation())
        yield Item("Method", METHOD)

    def _citation(self) -> str:
        product = self.product
        who = f"{name(self.publisher)} ({year(self._time)})" if self.publisher else f"({year(self._time)})"
        many = len(product.released)
        said = f"{many:,} release{'' if many == 1 else 's'}, together {product.measure.words(product.spent)}"
        hashes = ", ".join(str(each.body["sha256"])[:12] for each in product.released)
        return f"{who}. {quoted(self.called)}. {said}, blowfish-privacy; documents {hashes}."


def _draw(made: AnyResult) -> tuple[str, bytes]:
    """Draw a release for a page: as SVG, or as PNG where that would be very large."""
    drawing = made.svg()
    return ("image/svg+xml", drawing) if len(drawing) <= _LARGEST_DRAWING else ("image/png", made.png())
