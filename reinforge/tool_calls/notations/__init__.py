"""Readers, one module per notation."""
