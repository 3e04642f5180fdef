"""Known facts: how many records must move together, and how much a query changes when they do.

Start reading at ``theorems.py``. This file imports nothing, so that a policy can state facts without loading
the searches.
"""
