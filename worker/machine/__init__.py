"""What this machine has: GPUs, memory, processor share, vLLM's environment."""
