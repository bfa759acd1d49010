"""Sampling on demand in a separate process."""
