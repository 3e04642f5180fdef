"""Searches for the records that change a query most when they move together."""
