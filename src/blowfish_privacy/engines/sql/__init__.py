"""Counting in SQL: positions of values, cells, lattice sums, assignments."""
