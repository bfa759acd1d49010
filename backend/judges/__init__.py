"""Judges of a project, which graders refer to."""
