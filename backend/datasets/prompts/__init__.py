"""Rendering of dataset rows as prompts, their lengths in tokens, and the held-out split."""
