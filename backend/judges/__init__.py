"""Judges of a project: connections that graders refer to. Keys are encrypted at rest and never returned."""
