"""Rewards and their immutable revisions."""
