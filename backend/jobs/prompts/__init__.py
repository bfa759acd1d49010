"""Prompts of a job over all its steps."""
