"""Base models: what workers found when they looked at a model's files."""
