"""Sampling of completions: engine protocol, engines, and the collector of scored groups."""
