"""A card as a page: Markdown, or HTML that needs nothing but itself.

Names and categories were chosen by somebody else and may be hostile: every text is escaped here, whatever it says.
"""

from __future__ import annotations

import html
import re

from blowfish_privacy.statements.card_layout import TITLE, Card, Item

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
    """Write a card as Markdown."""
    parts = [f"# {escaped(card.title)}", escaped(card.summary)]
    for section in card.sections:
        lines = [f"- **{escaped(item.label)}**: {escaped(item.text)}" for item in section.items]
        parts.append(f"## {escaped(section.title)}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Say whether a text is a card, by its first line."""
    first = text.partition("\n")[0].rstrip("\r")
    return first == _FIRST_LINE or first.startswith(f"# {TITLE}“")


def escaped(text: str) -> str:
    """Write a text so that Markdown shows it as it is: no emphasis, links, tables, formulas, attributes or tags."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


def _marked(text: str) -> str:
    """Escape a text for HTML; names keep to themselves, whatever the direction of their writing is."""
    return _NAME.sub(r"“<bdi>\1</bdi>”", html.escape(text))


def _line(item: Item, before: Item | None) -> str:
    """Write one line; a label that stands above already is not repeated."""
    label = "" if before is not None and before.label == item.label else html.escape(item.label)
    return f"<dt>{label}</dt><dd>{_marked(item.text)}</dd>"


def page(card: Card) -> str:
    """Write a card as an HTML page without scripts, pictures or anything from elsewhere."""
    sections = "\n".join(
        f"<section>\n<h2>{html.escape(section.title)}</h2>\n<dl>\n"
        + "\n".join(_line(item, before) for item, before in zip(section.items, (None, *section.items), strict=False))
        + "\n</dl>\n</section>"
        for section in card.sections
    )
    return f"""{_FIRST_LINE}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
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
