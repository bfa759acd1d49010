"""Environments, which answer a completion; in a single turn with nothing."""
