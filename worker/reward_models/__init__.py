"""Rewards that ask a checkpoint: a process of its own that loads torch, so that whoever scores need not.

`python -m worker.reward_models` reads one JSON order per line and answers each with one line
(`worker.rewards.checkpoints` is the other end). It ends at EOF on its standard input.
"""
