"""Ordered attributes of tables asked for as ranges: rows in place of values, and their errors."""
