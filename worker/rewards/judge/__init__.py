"""Rewards that ask a language model: client, replies, cache, costs."""
