"""Datasets made of a job's best completions."""
