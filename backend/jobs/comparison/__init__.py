"""Comparison of up to 50 jobs of a project."""
