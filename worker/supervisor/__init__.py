"""Runs one claimed job: its folder, trainer process, lease, and the diagnosis of its end."""
