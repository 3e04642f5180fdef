"""What all releases of a ledger lost together: on each class of secret pairs, on a whole record, on values far apart.

The amounts are the ledger's balances: each is the most that one pair of a class has lost. Steps along several pairs add
up, so two values that differ in several attributes have lost at most the sum of these (docs/proofs/classes.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from blowfish_privacy.domain import quoted
from blowfish_privacy.errors import SpecError
from blowfish_privacy.ledger import Ledger, Report
from blowfish_privacy.ledger.account import by_class, in_words
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import presence_only
from blowfish_privacy.privacy.loss import EVERY, PRESENCE, Loss, PairClass, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON, meanings_view
from blowfish_privacy.release.losses import ProductLoss
from blowfish_privacy.release.verification import Product, Released, read_product
from blowfish_privacy.results import from_text
from blowfish_privacy.results.files import AnyResult, FilesBeside, files_beside, values_file
from blowfish_privacy.statements.card import (
    MOST_LISTED,
    Writer,
    error_of,
    error_words,
    remarks,
    statistic,
    why_exact,
)
from blowfish_privacy.statements.card_page import Card, CardTable, Item, Picture, Section, card_view
from blowfish_privacy.support.text import count_of


def pairs_named(pairs: PairClass) -> str:
    """Name a class of secret pairs by what they change."""
    if pairs.kind == "attribute":
        return quoted(pairs.attribute)
    words = {PRESENCE.kind: "whether a person is in the table", EVERY.kind: "every attribute"}
    return words.get(pairs.kind, "any attributes")


# The releases of a product, each in a line or two.


def loss_words(loss: Loss) -> str:
    """Say what was lost on which secret pairs, of which records, and how much on each where that is not the same."""
    lost = {pairs: amount for pairs, amount in by_class(loss, None).items() if amount}
    if not lost:
        return "nothing lost"
    # What a class lost was lost on some of its pairs alone, wherever it was lost.
    partly = {p for p in lost if all(other.within for other, _ in loss if other == EVERY or other.whole == p)}
    most, number = loss.measure.words(loss.largest), loss.measure.number
    some = " (of some records)"
    every = some if len(partly) == len(lost) else ""
    names = {pairs: f"{pairs_named(pairs)}{some if pairs in partly and not every else ''}" for pairs in lost}
    if len({*map(number, lost.values())}) == 1:
        return f"{most} on {', '.join(names.values())}{every}"
    each = ", ".join(f"{names[pairs]} {number(amount)}" for pairs, amount in lost.items())
    return f"at most {most}{every}: {each}"


# A statement about all releases of a ledger together, for publication: the index page of a product.
#
# Everything comes from the documents that the ledger handed out, which are public, and from its balances. A ledger or a
# document that does not verify gets no statement.

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
    loss = ProductLoss(product)
    strength = loss.strength(product.spent)
    charges, several = len(product.released) + len(product.unreleased), Counter(each.name for each in product.released)
    return _ProductWriter(
        called=title or product.ledger.name.removesuffix(".ledger"),
        policy=product.policy,
        strength=strength,
        releases=product.released,
        publisher=publisher,
        folder=product.folder,
        far=loss.far,
        # Of several releases with one name, that of each also says which entry paid for it.
        names={
            each.number: f"{quoted(each.name)}{f' (entry {each.number})' if several[each.name] > 1 else ''}"
            for each in product.released
        },
        why_none="no release has noise",
        sums=f"The sums are those of the publisher's ledger, with "
        f"{'its one charge' if charges == 1 else f'all its {charges:,} charges'}. What other ledgers released about "
        "the same people is not in them, and adds up with it.",
        check="blowfish verify derives guarantee and error of each release anew from its document; for the custodian "
        "of the ledger it checks all of them, and that they add up to what is stated here.",
        promise=f"{count_of(len(product.released), 'release')}, together {strength.words}",
        product=product,
        loss=loss,
        files=files,
    ).card()


def refuse_unsound(product: Product) -> None:
    """Refuse a product of which something does not verify, since nothing can be stated about it."""
    if product.problems:
        raise SpecError(
            f"the releases do not verify, so nothing can be stated about them: {' '.join(product.problems[:3])}",
            hint="blowfish verify lists all problems, for the same file or ledger.",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _ProductWriter(Writer):
    """Writes the card of all releases of a ledger together."""

    product: Product
    loss: ProductLoss
    files: Mapping[int, FilesBeside] | None

    together = True

    def summary(self) -> str:
        product, strength = self.product, self.strength
        many = len(product.released)
        if not many:
            charged = count_of(len(product.unreleased), "charge")
            return f"Nothing was handed out. {charged} cost {strength.words}, which count all the same."
        counted = "One release" if many == 1 else f"{many:,} releases"
        exact = [each for each in product.released if not each.plan.amount]
        if not strength.amount:
            why = "; ".join(dict.fromkeys(why_exact(each.main) for each in exact))
            return f"{counted}, published exactly: {why}, so the numbers are the exact ones, without noise."
        text = f"{counted}. {self.assured(' in all', 'all of them')}"
        if exact:
            text += f" {len(exact):,} of them {'is' if len(exact) == 1 else 'are'} published exactly, without noise."
        whole_record = self.loss.whole_record
        if whole_record is not None and whole_record > strength.amount:
            certain = self.loss.strength(whole_record)
            text += (
                f" About all attributes of a person at once, a secret step in each, the loss is at most "
                f"{certain.words}, and whoever is undecided about all of them can become at most "
                f"{certain.certainty} % sure{certain.but}."
            )
        return text

    def whole_record(self) -> Iterator[Item]:
        yield Item(
            "The table",
            "For each attribute the table above has the most that one of its secret pairs has lost, the factor that "
            "this means and how sure somebody undecided can become, rounded up.",
        )
        yield Item("Whole record", self._whole_record_words())
        product = self.product
        most = f"{'epsilon ' if product.measure is EPSILON else ''}{product.terms.kept}"
        limit = (
            f"No secret pair may ever lose more than {most}, whatever else is released from the same ledger; the one "
            f"that lost the most has lost {product.measure.words(product.spent)}."
        )
        fixed = (
            " The sums describe releases that were fixed beforehand; for releases that were chosen by what earlier "
            "ones showed, the promise is that of the whole budget."
        )
        yield Item("Budget", f"{limit}{'' if product.measure is EPSILON else fixed}")

    def _whole_record_words(self) -> str:
        policy, amount = self.policy, self.loss.whole_record
        if amount is None and not policy.steps_add_up:
            return "No sum is stated: with known facts steps of several attributes need not add up."
        if amount is None:
            return "A secret pair may change several attributes at once; what lies further apart is listed below."
        words = self.loss.strength(amount).words
        if not one_attribute_at_a_time(policy):
            return f"Any two values of a record are a secret pair, so no more than {words} is lost on a whole record."
        if presence_only(policy):
            return f"At most {words}: one who leaves the table and one who comes, each as the table above says."
        and_back = " or twice what presence lost, whichever is less" if PRESENCE in self.loss.classes else ""
        roots = "" if self.product.measure is EPSILON else ", in rho the square roots add up"
        return (
            f"Two records that differ in every attribute, by one secret step each, have lost at most {words}: the sum "
            f"over the attributes{and_back}{roots}."
        )

    def table(self) -> CardTable:
        measure, whole_record = self.product.measure, self.loss.whole_record
        lost = {pairs_named(pairs): amount for pairs, amount in self.loss.classes.items()}
        if whole_record is not None and len(lost) > 1:
            lost["all attributes, a secret step in each"] = whole_record
        rows: list[tuple[str, ...]] = []
        for pairs, amount in lost.items():
            strength = self.loss.strength(amount)
            sure = f"{strength.certainty} %" if amount else "50 %, as before"
            rows.append((pairs, measure.number(amount), strength.factor(), sure))
        return CardTable(("Secret pairs that change", f"Lost ({measure.unit})", "Factor", "At most sure"), tuple(rows))

    def released(self) -> Iterator[Item]:
        for each, result in zip(self.product.released, self.results, strict=True):
            sentences, beside = [statistic(each.parts)], self._beside(each)
            if each.plan.amount:
                sentences += [f"Typical error {error_words(each.parts)}", *remarks(result)]
            else:
                sentences += [f"Without noise: {why_exact(each.main)}."]
            sentences.append(self._cost(each))
            foreign = ", ".join(quoted(path.name) for path in beside.foreign)
            if self.files is not None and not beside.own:
                sentences.append("Its files are not beside this page.")
            elif foreign:
                sentences.append(f"Beside this page, but not what was released: {foreign}.")
            files = tuple(path.name for path in beside.own)
            yield Item(self.names[each.number], " ".join(sentences), files=files)
            cautions = each.main.query.cautions().items()
            yield from (Item(heading, self.about(each, caution)) for heading, caution in cautions)
            if each.plan.amount:
                yield from self.notes(each, exact=False)
        for entry in self.product.unreleased:
            charged = f"Entry {entry.number}, {quoted(entry.description)}: {loss_words(entry.loss)}."
            yield Item("Charged, not handed out", f"{charged} Nothing was handed out for it, and it counts.")

    def _cost(self, each: Released) -> str:
        entry, proved, charged = each.entry, each.plan.certificate.loss, each.entry.loss
        if not charged.largest:
            return f"Privacy cost: none (entry {entry.number})."
        same = proved.measure.words(proved.largest) == charged.measure.words(charged.largest)
        counted = "" if same else f"{proved.measure.words(proved.largest)}, counted as "
        rule = "" if each.plan.policy.hash == self.policy.hash else f"; {entry.rule}"
        return f"Privacy cost: {counted}{loss_words(charged)} (entry {entry.number}{rule})."

    def _beside(self, each: Released) -> FilesBeside:
        return (self.files or {}).get(each.entry.number, FilesBeside())

    def values(self) -> Section:
        pictures: list[Picture] = []
        for each, result in zip(self.product.released, self.results, strict=True):
            if values_file(result) is None:
                drawn = (path.name for path in self._beside(each).own if path.name.endswith(".png"))
                pictures.append(Picture(self.names[each.number], partial(_draw, result), next(drawn, None)))
        return Section("Pictures", (), pictures=tuple(pictures))


def _draw(result: AnyResult) -> tuple[str, bytes]:
    """Draw a release for a page: as SVG, or as PNG where that would be very large."""
    drawing = result.svg()
    return ("image/svg+xml", drawing) if len(drawing) <= _LARGEST_DRAWING else ("image/png", result.png())


# A product as plain values for JSON: its releases, its totals, what they mean, and whether all of it is sound.


def product_view(product: Product, card: Card, files: Mapping[int, FilesBeside] | None = None) -> dict[str, Any]:
    """Show the statement about a product, with its numbers; amounts are exact, in the measure of the ledger."""
    loss = ProductLoss(product)
    whole_record, beside = loss.whole_record, files or {}
    far = (*islice(loss.far.of_attributes(), MOST_LISTED), *loss.far.of_all())
    return {
        **card_view(card),
        "budget": product.terms.view,
        "measure": product.measure.unit,
        "spent": str(product.spent),
        "means": meanings_view(product.measure, product.spent),
        "meaning": _meaning(loss, product.spent),
        "balances": {
            named: {"lost": str(amount), **_meaning(loss, amount)}
            for named, amount in in_words(product.lost, product.policy).items()
        },
        "whole_record": None if whole_record is None else {"lost": str(whole_record), **_meaning(loss, whole_record)},
        "further_apart": [{"pair": each.pair, "steps": int(each.hops), "factor": each.factor} for each in far],
        "releases": [_release_view(each, beside.get(each.entry.number, FilesBeside())) for each in product.released],
        "not_handed_out": [
            {
                "entry": entry.number,
                "release": entry.label,
                "charged": str(entry.charged),
                "lost": _amounts(entry.loss, None),
            }
            for entry in product.unreleased
        ],
    }


def product_verification_view(
    product: Product | Report, files: Sequence[str] = (), missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Show whether a ledger and all its documents are sound and add up; from some nothing was released.

    ``files`` says what is wrong with documents beside it, ``missing`` which are not there.
    """
    problems = [*product.problems, *files]
    policy = product.policy if isinstance(product, Product) else None
    released = product.released if isinstance(product, Product) else ()
    report = product.report if isinstance(product, Product) else product
    proved = Loss.total((each.cost for each in released), report.lost.measure)
    return {
        "ok": not problems,
        "entries": report.entries,
        "documents": report.documents,
        "not_handed_out": report.entries - report.documents,
        "spent": str(report.spent),
        "balances": _amounts(report.lost, policy),
        "proved": _amounts(proved, policy),
        "problems": problems,
        "missing": [*missing],
    }


def _meaning(loss: ProductLoss, amount: Fraction) -> dict[str, Any]:
    """Say what an amount means to somebody who guesses, never less than it does."""
    strength = loss.strength(amount)
    return {"factor": strength.factor(), "at_most_sure": int(strength.certainty)}


def _amounts(loss: Loss, policy: Policy | None) -> dict[str, str]:
    return {named: str(amount) for named, amount in in_words(loss, policy).items()}


def _release_view(each: Released, files: FilesBeside) -> dict[str, Any]:
    proved = each.plan.certificate.loss
    errors = [error_of(part) for part in each.parts]
    worst = max(errors, key=lambda error: error["rmse"])
    return {
        "name": each.name,
        "entry": each.entry.number,
        "time": each.body["time"],
        "statistic": statistic(each.parts),
        "numbers": sum(len(part.noisy) for part in each.parts),
        "error": {
            "of": worst["of"],
            "rmse": worst["rmse"],
            "within_95_in_100": max((error["within_95_in_100"] for error in errors), key=float),
        },
        proved.measure.name: str(proved.largest),
        "charged": str(each.entry.charged),
        "lost": _amounts(each.entry.loss, None),
        "policy": each.plan.policy.hash,
        "sha256": each.body["sha256"],
        "files": [path.name for path in files.own],
        "not_its_own": [path.name for path in files.foreign],
    }
