"""Completions that are paid although they are wrong: probes against a reward, and the report about them."""
