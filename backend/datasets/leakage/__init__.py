"""Duplicate prompts, within a dataset and between training and held-out rows."""
