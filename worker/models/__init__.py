"""Base models as files: sources, inspection, prompt rendering. Imports no torch."""
