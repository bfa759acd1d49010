"""Readers of dataset files."""
