"""OpenAI's fine-tuning jobs: requests, views, events, metrics, checkpoints."""
