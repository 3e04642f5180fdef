"""Known facts: how many records move together, and how much a query changes when they do.

``theorems/dispatch.py`` is the way in. Nothing is imported here: a policy states facts without these searches.
"""
