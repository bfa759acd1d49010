"""Colours of pages that the server renders."""

from pathlib import Path

COLORS = (Path(__file__).parent / "colors.css").read_text(encoding="utf-8")
"""CSS custom properties, for light and dark."""
