"""Tables estimated from given rows, as a function of the rows: it is linear, so unit vectors show all of it."""

import numpy as np


def estimating(form, components):
    """Return what estimates all tables from the rows of a form, end to end, and the number of records."""

    def estimated(rows, records):
        cuts = np.split(rows, np.cumsum(form.sizes)[:-1])
        tables = [cut.reshape(form.shape_of(block)) for cut, block in zip(cuts, form.blocks, strict=True)]
        found = components.estimate(tables, records if components.counted else None)
        return [components.table(found, axes) for axes in components.tables]

    return estimated
