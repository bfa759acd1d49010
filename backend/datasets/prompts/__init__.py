"""A dataset's rows as prompts: rendered, measured in tokens, split."""
