"""Audit log of the changes by people and API keys."""
