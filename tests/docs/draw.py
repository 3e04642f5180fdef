"""Draw the pictures that pages show of their own results, by running the pages: ``make pictures``.

The bits of the noise belong to the page, so the same code draws the same picture.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.pages import PAGES, PICTURE, ROOT, prepare, run_page
from predictable import predictable_bits


def draw(page: Path) -> list[str]:
    """Run a page, and keep those pictures that it both draws and shows."""
    before = Path.cwd()
    with TemporaryDirectory() as place, predictable_bits(page.name):
        folder = Path(place)
        os.chdir(folder)
        try:
            prepare(page, folder)
            run_page(page, folder)
        finally:
            os.chdir(before)
        drawn = [name for name in PICTURE.findall(page.read_text()) if (folder / name).exists()]
        for name in drawn:
            shutil.copy(folder / name, ROOT / "docs/pictures" / name)
    return drawn


if __name__ == "__main__":
    for page in PAGES:
        if PICTURE.search(page.read_text()) and page.stem in (sys.argv[1:] or [page.stem]):
            print(page.name, *draw(page))
