"""Mixtures of products: groups of records in each of which the attributes are independent."""
