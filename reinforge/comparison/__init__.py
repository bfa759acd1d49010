"""Comparison of jobs: settings that differ, held-out rows in pairs, and the verdict in words."""
