"""What tests compare with: the exhaustive oracle, the paper's closed forms, strategies, a seeded source of noise."""
