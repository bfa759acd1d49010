"""The project and its API keys."""
