"""Runs one claimed job."""
