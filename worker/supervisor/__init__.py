"""Runs one claimed job: its folder, its trainer process, its lease, and the explanation of its end."""
