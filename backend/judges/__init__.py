"""Judges of a project: connections that graders name. Keys are encrypted at rest and never answered."""
