"""What to do about a ledger that is not there, or is there already: the same words for every kind of storage."""

MISSING = (
    "if there was one, find it: a new one would not know what was spent. Making one is an act of its own: "
    "blowfish ledger create FILE.yaml, or in Python create=True with a budget."
)
EXISTS = "open an existing ledger without create; a new one needs a name of its own."
