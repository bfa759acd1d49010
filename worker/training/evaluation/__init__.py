"""Held-out evaluation: sampled rewards, pass@k, agreement with the declared answer."""
