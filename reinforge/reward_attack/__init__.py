"""Probes against a reward: wrong completions that are paid, and the report about them."""
