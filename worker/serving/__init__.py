"""Sampling on demand: one base model and a few adapters in a process of their own, apart from training."""
