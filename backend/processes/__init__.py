"""Warm child processes with memory limits, for reading untrusted files."""
