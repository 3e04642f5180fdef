"""Steps over exact counts: what each costs, how it is chosen and paid for, and how it is written."""
