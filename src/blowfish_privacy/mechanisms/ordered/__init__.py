"""Cumulative counts and ranges of one ordered attribute."""
