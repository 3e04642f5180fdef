"""Docstrings name things as ``:class:`Policy```, draw after ``::`` and list their claims line by line.

On the site the names stay without their roles, and each claim begins a line.
"""

import re

ROLE = re.compile(r":(?:class|meth|func|attr|mod):(<code>)~?(?:blowfish_privacy\.)?")
BOX = re.compile(
    r'<details class="(privacy|sensitivity|error|cost|numerics|proof)"[^>]*>\s*<summary>(.*?)</summary>'
    r"\s*<p>(.*?)</p>\s*</details>\s*(?:<p>)?",
    re.S,
)
"""A claim of several lines, which the docstring parser takes for a box."""
CLAIM = re.compile(r"(\n|<p>)(Privacy|Sensitivity|Error|Cost|Numerics|Proof): ")


def on_page_content(html, page, **_):
    """Tidy what comes from docstrings."""
    if not page.url.startswith("reference/"):
        return html
    html = BOX.sub(lambda found: f"<p>{found[1].title()}: {found[2]} {found[3]}\n", html)
    lines = CLAIM.sub(lambda found: f"{'<br>' if found[1] == chr(10) else found[1]}<strong>{found[2]}</strong>: ", html)
    return ROLE.sub(r"\1", lines).replace("<p>::</p>\n", "")
