"""The demo job: packaged prompts and a reward."""
