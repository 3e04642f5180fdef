"""Exact numbers, files, text formats and progress: what has nothing to do with privacy."""
