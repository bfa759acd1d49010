"""Answers the backend's synchronous calls."""
