"""Finds and inspects base models' files; renders chat templates. Imports no torch."""
