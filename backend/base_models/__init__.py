"""Base models, and the facts that workers have read from their files."""
