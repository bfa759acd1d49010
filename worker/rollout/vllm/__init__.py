"""vLLM rollout engine: a server in its own Python environment. Nothing here imports vllm."""
