"""Prompts of a job: rendered, split, and chosen by step."""
