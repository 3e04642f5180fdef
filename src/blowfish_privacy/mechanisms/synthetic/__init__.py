"""Synthetic records: tables chosen and measured, a model fitted to them, and records drawn from it."""
