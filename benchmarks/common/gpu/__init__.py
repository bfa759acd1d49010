"""The sections of `benchmarks/gpu_check.py`, one file each."""
