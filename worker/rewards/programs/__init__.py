"""Rewards that run programs against hidden tests."""
