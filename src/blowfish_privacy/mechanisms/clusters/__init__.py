"""Clusters: noisy points in place of the records, and centres found among them."""
