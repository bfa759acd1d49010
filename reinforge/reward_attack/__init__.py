"""Attacks on a reward: find and report wrong completions with a high reward."""
