"""vLLM rollout engine: a server in its own Python environment, called over a socket. Nothing here imports vllm."""
