"""A card as a page: Markdown, or HTML that needs nothing but itself.

Names and categories were chosen by somebody else and may be hostile: every text is escaped here, whatever it says.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, cast
from urllib.parse import quote

from blowfish_privacy.domain import quoted

# The parts of a card.

TITLE = "Privacy statement: "


class Label(StrEnum):
    """What the lines are about that fill fields of the public registry."""

    STATISTIC = "Statistic"
    VALUES = "Values a record can have"
    UNIT = "Privacy unit"
    PROTECTED = "Protected"
    STRENGTH = "Strength"
    APART = "Further apart"
    WARNING = "Warning"
    NO_NOISE = "No noise"
    UNPROTECTED = "Unprotected"
    KNOWN = "Exact or assumed known"
    MECHANISM = "Mechanism"
    SENSITIVITY = "Sensitivity"
    RANDOMNESS = "Randomness"
    GROUPS = "Groups"
    COMPOSITION = "Composition"
    POST_PROCESSING = "Post-processing"


@dataclass(frozen=True)
class Item:
    """One line of a card: what it is about, and a sentence or two."""

    label: str
    text: str
    files: tuple[str, ...] = ()
    """The names of files beside the page that somebody may download."""
    alone: str = ""
    """What it says where the other lines of the card are not beside it, if that differs."""


@dataclass(frozen=True)
class CardTable:
    """A few numbers in rows; the first cell of a row says what it is about."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that a page holds itself, drawn when it is asked for."""

    caption: str
    draw: Callable[[], tuple[str, bytes]]
    """Returns the kind of picture, such as ``image/svg+xml``, and its content."""
    file: str | None = None
    """The name of a file beside the page that shows the same."""


@dataclass(frozen=True)
class Section:
    """A heading of a card and what is under it."""

    title: str
    items: tuple[Item, ...]
    table: CardTable | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Card:
    """A statement about one release, or about all of a ledger, ready to be written as a page."""

    name: str
    summary: str
    sections: tuple[Section, ...]
    parameters: dict[str, str]
    """How much is lost, by the name of the measure; for rho also what it means as epsilon at some deltas."""
    time: str
    publisher: str | None
    differential_privacy: bool
    """Whether the promise is (bounded) differential privacy."""
    flavour: str
    """The definition of privacy in a few words."""
    releases: int | None = None
    """How many releases it is about; None for a statement about one."""

    @property
    def title(self) -> str:
        """The headline, with the name in quotation marks."""
        return f"{TITLE}{quoted(self.name)}"

    def said(self, *labels: str) -> list[str]:
        """Return what the card says under some labels."""
        return [item.text for item in self.items(*labels)]

    def items(self, *labels: str) -> list[Item]:
        """Return the lines under some labels."""
        return [item for section in self.sections for item in section.items if item.label in labels]


_SPECIAL = re.compile(
    r"""
    [&<>\\`*#|~${}@]
    | \](?=\s*[\[\]({:])                      # links and references; nothing here can define a reference
    | (?<![^\W_])_ | _(?![^\W_])              # emphasis, which never starts or ends inside a word
    | (?<=\+)\+ | \+(?=\+) | (?<==)= | =(?==) # insertions and marks
    | \^(?!(?<=\d\^)\d+(?![\d^]))            # superscript, but not 10^6
    | :(?!\s|$|(?<=\d:)\d\d(?!\d))            # addresses and :emoji:, but not 12:30
    | (?<=www)\.
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What Markdown or a common extension of it may read as more than text."""
_NAME = re.compile("“([^”]*)”")

_FIRST_LINE = "<!doctype html><!-- Privacy statement by blowfish-privacy -->"

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: .3rem }
h2 { font-size: 1.05rem; margin: 1.1rem 0 .2rem; border-bottom: 1px solid #8886 }
p.summary { font-size: 1.05rem; border-left: 4px solid #3f7d58; padding-left: .8rem }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .15rem .8rem; margin: .3rem 0 }
dt { font-weight: 600 } dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; margin: .5rem 0 }
th, td { text-align: left; padding: .1rem .8rem .1rem 0; border-bottom: 1px solid #8883; overflow-wrap: anywhere }
figure { margin: .8rem 0; break-inside: avoid }
figure img { display: block; max-width: 100%; background: #fff }
figcaption { font-weight: 600; margin-bottom: .2rem }
a { margin-right: .6rem }
@page { size: A4; margin: 12mm }
@media print {
  body { font-size: 7.8pt; line-height: 1.25; margin: 0; max-width: none; padding: 0 }
  h1 { font-size: 14pt; margin: 0 }
  h2 { font-size: 9.5pt; margin: 5pt 0 1pt }
  p.summary { font-size: 9pt; margin: 3pt 0 }
  dl { grid-template-columns: 12em 1fr; gap: 1pt 6pt }
}
@media (max-width: 34rem) { dl { display: block } }
"""


def markdown(card: Card) -> str:
    """Write a card as Markdown; pictures are shown where there is a file of them."""
    parts = [f"# {escaped(card.title)}", escaped(card.summary)]
    for section in card.sections:
        body: list[str] = []
        if section.table is not None:
            rows = (section.table.header, ("---",) * len(section.table.header), *section.table.rows)
            body.append("\n".join(f"| {' | '.join(map(escaped, row))} |" for row in rows))
        lines = [
            f"- **{escaped(item.label)}**: {escaped(item.text)}"
            + "".join(f" [{escaped(file)}]({quote(file)})" for file in item.files)
            for item in section.items
        ]
        body += ["\n".join(lines)] if lines else []
        body += [f"![{escaped(each.caption)}]({quote(each.file)})" for each in section.pictures if each.file]
        if body:
            parts += [f"## {escaped(section.title)}", *body]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Say whether a text is a card, by its first line."""
    return text.startswith((_FIRST_LINE, f"# {TITLE}“"))


def escaped(text: str) -> str:
    """Write a text so that Markdown shows it as it is: no emphasis, links, tables, formulas, attributes or tags."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


def _marked(text: str) -> str:
    """Escape a text for HTML; names keep to themselves, whatever the direction of their writing is."""
    return _NAME.sub(r"“<bdi>\1</bdi>”", html.escape(text))


def _table(table: CardTable) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{_marked(cell)}</{tag}>' for cell in cells)}</tr>"

    rows = "\n".join([row(table.header, "th"), *(row(cells, "td") for cells in table.rows)])
    return f"<table>\n{rows}\n</table>\n"


def _figure(picture: Picture) -> str:
    """Embed a picture, which cannot run anything as an image."""
    kind, content = picture.draw()
    source = f"data:{kind};base64,{b64encode(content).decode()}"
    name = html.escape(picture.caption)
    return (
        f'<figure>\n<figcaption>{_marked(picture.caption)}</figcaption>\n<img src="{source}" alt="{name}">\n</figure>'
    )


def _section(section: Section) -> str:
    lines: list[str] = []
    before = ""
    for item in section.items:
        # A label that stands above already is not repeated.
        label = "" if item.label == before else _marked(item.label)
        links = "".join(f' <a href="{quote(file)}" download>{html.escape(file)}</a>' for file in item.files)
        lines.append(f"<dt>{label}</dt><dd>{_marked(item.text)}{links}</dd>\n")
        before = item.label
    listed = f"<dl>\n{''.join(lines)}</dl>\n" if lines else ""
    table = "" if section.table is None else _table(section.table)
    figures = "".join(f"{_figure(picture)}\n" for picture in section.pictures)
    return f"<section>\n<h2>{html.escape(section.title)}</h2>\n{table}{listed}{figures}</section>"


def page(card: Card) -> str:
    """Write a card as an HTML page without scripts or anything from elsewhere: it holds its pictures itself."""
    sections = "\n".join(map(_section, card.sections))
    pictures = "; img-src data:" if any(section.pictures for section in card.sections) else ""
    return f"""{_FIRST_LINE}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'{pictures}">
<title>{html.escape(card.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{_marked(card.title)}</h1>
<p class="summary">{_marked(card.summary)}</p>
{sections}
</body>
</html>
"""


# A card in the fields of the public registry of differential privacy deployments [nanayakkara2025].
#
# A release document cannot fill all of them: who curates the data for what use, and why these choices were made, is for
# the publisher to add.


def card_view(card: Card) -> dict[str, Any]:
    """Show a card as plain values for JSON, with the registry's fields."""
    view = {field.name: getattr(card, field.name) for field in fields(card)}
    del view["sections"]
    if card.releases is None:
        del view["releases"]
    sections: list[dict[str, Any]] = []
    for section in card.sections:
        items = [{"label": item.label, "text": item.text} for item in section.items]
        table = {} if section.table is None else {"table": asdict(section.table)}
        sections.append({"title": section.title, "items": items, **table})
    return {**view.pop("parameters"), **view, "sections": sections, "registry": registry(card)}


def is_card_view(view: Any) -> bool:
    """Say whether something read from JSON is a card."""
    return isinstance(view, dict) and {"summary", "sections", "registry"} <= {*cast("dict[str, Any]", view)}


def registry(card: Card) -> dict[str, Any]:
    """Fill the fields that a release document can fill."""
    return {
        "product": {
            "name": card.name,
            "data_curators": [] if card.publisher is None else [card.publisher],
            "data_product_type": "Summary statistics",
            "description": " ".join(card.said(Label.STATISTIC)) if card.releases is None else card.summary,
            "publication_date": card.time[:10] or None,
        },
        "dp_flavor": {
            "name": card.flavour,
            "data_domain": " ".join(card.said(Label.VALUES)),
            "unprotected_quantities": card.said(Label.NO_NOISE, Label.UNPROTECTED, Label.KNOWN),
        },
        "privacy_loss": {
            "privacy_unit": "Person-level",
            "privacy_unit_description": " ".join(
                item.alone or item.text for item in card.items(Label.UNIT, Label.PROTECTED)
            ),
            "privacy_parameters": card.parameters,
            "privacy_parameters_description": " ".join(
                [*card.said(Label.STRENGTH), *_tables(card), *card.said(Label.APART, Label.WARNING)]
            ),
        },
        "model": {
            "model_name": "Central",
            "release_type": "One release" if card.releases is None else f"{card.releases:,} releases together",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "composition": " ".join(card.said(Label.GROUPS, Label.COMPOSITION)),
            "post_processing": " ".join(card.said(Label.POST_PROCESSING)),
        },
        "implementation": {"mechanisms": " ".join(card.said(Label.MECHANISM, Label.SENSITIVITY, Label.RANDOMNESS))},
    }


def _tables(card: Card) -> Iterator[str]:
    """Write the tables of a card as sentences, one for each row."""
    for table in (section.table for section in card.sections if section.table is not None):
        first, *columns = table.header
        for row, *cells in table.rows:
            numbers = ", ".join(
                f"{column[0].lower()}{column[1:]} {cell}" for column, cell in zip(columns, cells, strict=True)
            )
            yield f"{first} {row}: {numbers}."
