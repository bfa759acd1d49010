"""The starter models: 0.8 M parameters each, trained from scratch on generated text."""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "starter-arith"
TOOLS_CHECKPOINT = Path(__file__).parent / "starter-tools"
