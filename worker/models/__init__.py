"""Base models as files: sources, inspection, rendering. Imports no torch."""
