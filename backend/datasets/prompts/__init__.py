"""A dataset's rows as prompts: rendering, token lengths, split."""
