"""How large a policy and what is asked of it may be. ``docs/policy-file.md`` states every one of these numbers.

Each is set so that checking or planning at the limit takes some ten seconds and a gigabyte at most. What is larger is
refused before memory is taken for it.
"""

from __future__ import annotations

FILE_CHARACTERS = 10_000_000
"""Characters of a policy file."""
FILE_VALUES = 1_000_000
"""Values of a policy file: numbers, texts, keys, lists and mappings."""
FILE_LEVELS = 100
"""How deep lists and mappings may be nested."""
TEXT_CHARACTERS = 20_000
"""Characters of one text: a category, a path, an address with a query in it."""
COLUMNS = 20_000
"""Columns of a file of data, or of a table in one."""
HEADER_BYTES = 4_000_000
"""Bytes of the first line of a CSV file, which names the columns."""
ATTRIBUTES = 1_000
"""Attributes of a domain."""
HIERARCHY_LEAVES = 100_000
"""Leaves of a hierarchy."""
RELEASES = 1_000
"""Releases of a policy file."""
RECORDS = 2**53
"""The stated number of records, of rows of one person, or of a known count."""
GROUPS = 10_000
"""Groups of a release, each with a plan of its own."""
ORDERED_VALUES = 1_000_000
"""Values of an attribute whose cumulative histogram is asked for, and so its quantiles and ranges."""
WEIGHTED_CELLS = 10_000_000
"""Combinations of the values that a weighted query is about and of the weights."""
GRID_SIDE = 2_000
"""Values along each side of a grid."""
MARGINAL_CELLS = 1_000_000
"""Combinations of values of a known marginal."""
KNOWN_PIECES = 300_000
"""Pieces that known facts may cut a domain into; they count twice with known counts, three times with more than 62."""
SYNTHETIC_ATTRIBUTES = 500
"""Attributes of synthetic records."""
SYNTHETIC_VALUES = 65_536
"""Values of an attribute of synthetic records."""
SYNTHETIC_DRAWN = 200_000_000
"""Values of synthetic records that are drawn at once: records times attributes."""
WORKLOAD_TABLES = 200_000
"""Tables that synthetic records shall be accurate in."""
IMPOSSIBLE_COMBINATIONS = 1_000
"""Conditions on combinations of values that no synthetic record has."""
IMPOSSIBLE_CELLS = 1_000_000
"""Combinations of values of the attributes that one of these conditions is on."""
