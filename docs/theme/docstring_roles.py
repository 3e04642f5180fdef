"""Docstrings name things as ``:class:`Policy``` and begin drawings with ``::``; on the site neither shows."""

import re

ROLE = re.compile(r":(?:class|meth|func|attr|mod):(<code>)~?(?:blowfish_privacy\.)?")


def on_page_content(html, **_):
    """Leave the names and drop the roles."""
    return ROLE.sub(r"\1", html).replace("<p>::</p>\n", "")
