"""The prompts of a job: rendered, split, dealt out by step."""
