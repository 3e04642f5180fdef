"""What tests stand on: the exhaustive oracle, strategies, a seeded source of noise."""
