"""What a product's card says is protected, and what all releases together mean for somebody who guesses."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from blowfish_privacy.policies.explain import hidden, presence_only
from blowfish_privacy.privacy.loss import PRESENCE, one_attribute_at_a_time
from blowfish_privacy.privacy.measure import EPSILON, meaning_words
from blowfish_privacy.statements.card_layout import Item, Table
from blowfish_privacy.statements.card_strength import strength_words
from blowfish_privacy.statements.card_words import FURTHER_UNDER_FACTS, domain, few, undecided, unit, why_exact
from blowfish_privacy.statements.product_loss import ProductLoss, pairs_named


def summary(loss: ProductLoss) -> str:
    """Say in a few sentences what was published, and how strongly all of it together protects."""
    product, strength = loss.product, loss.most
    many = len(product.released)
    if not many:
        charged = f"{len(product.unreleased):,} charge{'' if len(product.unreleased) == 1 else 's'}"
        return f"Nothing was handed out. {charged} cost {strength.words}, which count all the same."
    exact = [each for each in product.released if not each.plan.amount]
    if not strength.amount:
        why = "; ".join(dict.fromkeys(why_exact(each.main) for each in exact))
        return f"{_counted(many)}, published exactly: {why}, so the numbers are the exact ones, without noise."
    how = f" {strength.grade}," if strength.grade else ""
    sure = f"can become at most {strength.certainty} % sure by reading all of them{strength.but}"
    said = f"{_counted(many)}. Noise protects each person{how} with {strength.words} in all: "
    said += f"whoever is undecided {undecided(product.policy)} {sure}."
    if exact:
        said += f" {len(exact):,} of them {'is' if len(exact) == 1 else 'are'} published exactly, without noise."
    whole = loss.whole_record
    if whole is not None and whole > strength.amount:
        certain = loss.strength(whole)
        said += (
            f" About all attributes of a person at once, a secret step in each, the loss is at most {certain.words}, "
            f"and whoever is undecided about all of them can become at most {certain.certainty} % sure{certain.but}."
        )
    return said


def loss_table(loss: ProductLoss) -> Table:
    """Write for each class of secret pairs what it lost and what that means."""
    rows = [_row(loss, f"{pairs_named(pairs)}", amount) for pairs, amount in loss.classes.items()]
    whole = loss.whole_record
    if whole is not None and len(rows) > 1:
        rows.append(_row(loss, "all attributes, a secret step in each", whole))
    measure = loss.product.measure
    return Table(("Secret pairs that change", f"Lost ({measure.unit})", "Factor", "At most sure"), tuple(rows))


def protected(loss: ProductLoss) -> Iterator[Item]:
    """Say whose values are protected, which of them, and how strongly against all releases."""
    product, policy, strength = loss.product, loss.product.policy, loss.most
    words = policy.words()
    yield Item("Data", "One record for each person." if policy.rows_per_person == 1 else "Records of people.")
    yield Item("Values a record can have", f"{domain(policy.domain)}.")
    yield Item("Privacy unit", unit(policy))
    for sentence in [*few([str(rule) for rule in words.protected]), *words.added]:
        yield Item("Protected", sentence)
    if not words.sentences:
        yield Item("Protected", "Nothing: the policy has no secret values.")
    if not strength.amount:
        yield Item("Strength", "None: no release has noise.")
        return
    if words.sentences:
        yield Item("Protected", hidden(policy, "Strength"))
    yield Item("Strength", f"All releases together: {_lowered(strength_words(policy, strength))}")
    yield Item(
        "The table",
        "For each attribute the table above has the most that one of its secret pairs has lost, the factor that this "
        "means and how sure somebody undecided can become, rounded up.",
    )
    if meant := " or ".join(meaning_words(product.measure, product.spent)):
        yield Item("Strength", f"As (epsilon, delta), for the probabilities of all outputs: {meant}.")
    yield Item("Whole record", _whole_record(loss))
    yield from (Item("Further apart", each.words) for each in loss.far_apart() if each.lost is None or each.lost.amount)
    if not policy.steps_add_up:
        yield Item("Further apart", FURTHER_UNDER_FACTS)
    if strength.grade:
        large = f"{strength.words[0].upper()}{strength.words[1:]}"
        said = f"{large} is large: all releases may change odds {strength.factor()} times, which protects"
        yield Item("Warning", f"{said} {strength.grade}.")
    yield Item("Budget", _budget(loss))


def _row(loss: ProductLoss, named: str, amount: Fraction) -> tuple[str, ...]:
    strength = loss.strength(amount)
    sure = f"{strength.certainty} %" if amount else "50 %, as before"
    return named, loss.product.measure.number(amount), strength.factor(), sure


def _whole_record(loss: ProductLoss) -> str:
    policy, whole = loss.product.policy, loss.whole_record
    if whole is None and not policy.steps_add_up:
        return "No sum is stated: with known facts steps of several attributes need not add up."
    if whole is None:
        return "A secret pair may change several attributes at once; what lies further apart is listed below."
    words = loss.strength(whole).words
    if not one_attribute_at_a_time(policy):
        return f"Any two values of a record are a secret pair, so no more than {words} is lost on a whole record."
    if presence_only(policy):
        return f"At most {words}: one who leaves the table and one who comes, each as the table above says."
    and_back = " or twice what presence lost, whichever is less" if PRESENCE in loss.classes else ""
    return (
        f"Two records that differ in every attribute, by one secret step each, have lost at most {words}: the sum over "
        f"the attributes{and_back}{'' if loss.product.measure is EPSILON else ', in rho the square roots add up'}."
    )


def _budget(loss: ProductLoss) -> str:
    product = loss.product
    most = f"{'epsilon ' if product.measure is EPSILON else ''}{product.terms.kept}"
    said = (
        f"No secret pair may ever lose more than {most}, whatever else is released from the same ledger; the one that "
        f"lost the most has lost {product.measure.words(product.spent)}."
    )
    if product.measure is EPSILON:
        return said
    return (
        f"{said} The sums describe releases that were fixed beforehand; for releases that were chosen by what earlier "
        "ones showed, the promise is that of the whole budget."
    )


def _counted(many: int) -> str:
    return "One release" if many == 1 else f"{many:,} releases"


def _lowered(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"
