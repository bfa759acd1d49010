"""Resources of this machine: GPUs, memory, processor share, vLLM's environment."""
