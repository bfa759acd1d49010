"""Rewards from a checkpoint, in a separate process that loads torch, so that the scorer does not."""
