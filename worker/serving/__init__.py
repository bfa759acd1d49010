"""Sampling on demand: one base model and a few adapters in a separate process."""
