"""Pieces that the rooms are made of: each is a function that adds elements where it is called."""
