"""Adapters: what succeeded jobs hand back."""
