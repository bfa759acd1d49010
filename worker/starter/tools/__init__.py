"""The starter model for tools: 0.8 M parameters, trained from scratch on generated conversations."""

from worker.starter import TOOLS_CHECKPOINT

__all__ = ["TOOLS_CHECKPOINT"]
