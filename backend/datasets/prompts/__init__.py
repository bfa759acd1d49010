"""Rendering of rows as prompts, token lengths, split."""
