"""The starter model: 0.8 M parameters, trained from scratch on generated additions."""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "starter-arith"
