"""HTTP helpers."""
