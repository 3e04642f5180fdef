"""``blowfish data check``: for the custodian, never part of a release."""

from __future__ import annotations

from pathlib import Path

import click

from blowfish_privacy import results
from blowfish_privacy.batch import data_location
from blowfish_privacy.cli.terminal import as_json, echo, file_argument, load_in_part, print_json, print_table, warn
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import SpecError
from blowfish_privacy.release.checks import check_data
from blowfish_privacy.results.synthetic import NOT_FOR_PUBLICATION
from blowfish_privacy.results.synthetic import compare as compare_records
from blowfish_privacy.statements.data_check import COMPARISON_HEADER as DISTANCES
from blowfish_privacy.statements.data_check import (
    HEADER,
    comparison_cells,
    comparison_view,
    data_check_cells,
    data_check_view,
    data_check_words,
    fit_in_words,
)
from blowfish_privacy.support.postgresql import confirm


@click.group()
def data() -> None:
    """Compare the data with the declared domain, or with synthetic records. For the custodian only."""


@data.command()
@file_argument
@as_json
def check(file: str, as_json: bool) -> int:  # noqa: FBT001
    """Count the rows that FILE's domain does not cover. The counts are exact: do not publish them."""
    loaded = load_in_part(file)
    checked = check_data(open_engine(data_location(loaded, Path(file).parent)), loaded.policy)
    if as_json:
        print_json(data_check_view(checked))
    else:
        print_table(HEADER, data_check_cells(checked.domain))
        echo(f"{checked.domain.rows:,} rows. {fit_in_words(checked.domain)}")
        for sentence in data_check_words(checked.domain):
            echo(sentence)
        for fact in checked.contradicted:
            echo(f"The data contradict a known fact: {fact}.")
    warn("these are exact counts and values of private rows. They are for the data's custodian; do not publish them.")
    return 0 if checked.fits else 5


@data.command()
@file_argument
@click.argument("document", type=click.Path(dir_okay=False))
@as_json
def compare(file: str, document: str, as_json: bool) -> None:  # noqa: FBT001
    """Say how far the synthetic records of DOCUMENT are from FILE's data. The distances are exact: do not publish them.

    DOCUMENT is the .release.json file that the release wrote.
    """
    loaded = load_in_part(file)
    where = data_location(loaded, Path(file).parent)
    result = results.load(document)
    if not isinstance(result, results.SyntheticResult):
        raise SpecError(f"{document} holds no synthetic records.", hint="give the document of a synthetic release.")
    if result.release.policy.domain != loaded.policy.domain:
        raise SpecError(f"{document} was made for a different domain.")
    engine = open_engine(where)
    compared = compare_records(
        result.positions(), result.domain, lambda sets: engine.tables(loaded.policy.domain, sets)
    )
    if as_json:
        print_json(comparison_view(compared))
    else:
        print_table(DISTANCES, comparison_cells(compared))
        for names in compared.worst[:5]:
            echo(f"{' by '.join(names)}: {compared.tables[names]:.3f}")
    warn(NOT_FOR_PUBLICATION)


@click.command()
@click.argument("server")
def trust(server: str) -> None:
    """Confirm once that policy files may name SERVER (HOST or HOST:PORT), so that it is asked for data and ledgers.

    Whoever runs that server learns who you are there. Without a person at hand, set BLOWFISH_TRUSTED_SERVERS instead.
    """
    confirm(server)
    echo(f"Policy files may name {server} from now on.")
