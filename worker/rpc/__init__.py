"""Answers the backend's RPCs."""
