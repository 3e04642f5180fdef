"""The best way to measure a set of tables: pure numerics on public numbers."""
