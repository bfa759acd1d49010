"""Attacks on a reward: find wrong completions that it pays, and report them."""
