"""Completions compared by their rank in the group, as a package for Reinforge."""

from pathlib import Path

VECTORS = Path(__file__).parent / "vectors.json"
