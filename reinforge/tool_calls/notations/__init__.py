"""Readers of tool calls, one module per notation."""
