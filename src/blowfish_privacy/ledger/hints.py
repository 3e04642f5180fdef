"""What to do about a ledger that is missing, or already exists: the same words for every kind of storage."""

MISSING = (
    "if there was one, find it: a new one would not know what was spent. A ledger is made deliberately: "
    "blowfish ledger create FILE.yaml, or in Python create=True with a budget."
)
EXISTS = "open an existing ledger without create; a new one needs a new name."

DAMAGED = ("the ledger file is damaged or cut short", "restore it from a backup.")
"""What is wrong with a file whose pages do not hold together, and what to do."""
