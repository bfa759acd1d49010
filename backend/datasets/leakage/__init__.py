"""Equal and nearly equal prompts, within a dataset and between training and held-out rows."""
