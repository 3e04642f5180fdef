"""Ranges over two ordered attributes."""
