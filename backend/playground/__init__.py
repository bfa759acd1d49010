"""Sampling on demand."""
