"""Sampling: the engine protocol, the in-process engine and the collector that turns prompts into scored groups."""
