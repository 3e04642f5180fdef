"""Sets of tables whose components get discrete Gaussian noise."""
