"""Rewards from a checkpoint, in a separate process that loads torch, so that the scorer does not.

`python -m worker.reward_models` reads one JSON request per line and writes one line per answer
(`worker.rewards.checkpoints` is the other end). It ends at EOF on its standard input.
"""
