"""What this machine has: GPUs and their assignment, memory, processor share, the vLLM environment."""
