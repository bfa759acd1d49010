"""Playground: samples completions of a model on request."""
