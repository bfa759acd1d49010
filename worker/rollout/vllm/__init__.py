"""vLLM rollout engine: a server in its own Python environment."""
