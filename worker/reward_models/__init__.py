"""Computes rewards with a checkpoint in a separate process, so that the scorer need not load torch."""
