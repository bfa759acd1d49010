"""Sampling on a CPU: faster decoding steps, forked engines, shared prompts. GPUs do not use it."""
