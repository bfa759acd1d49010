"""Scoring of completions. Imports no torch."""
