"""Rewards from a checkpoint, in a separate process that loads torch, so that the scorer does not.

`worker.rewards.checkpoints` is the other end.
"""
