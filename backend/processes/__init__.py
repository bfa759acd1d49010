"""Warm child processes for reading untrusted files."""
