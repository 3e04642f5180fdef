"""Junction trees: one table for each clique of attributes, fitted to noisy tables."""
