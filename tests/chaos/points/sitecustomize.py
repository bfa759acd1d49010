"""Loaded by every Python of a platform that the chaos suite has started: this folder is on its PYTHONPATH."""

import os

if "REINFORGE_CHAOS" in os.environ:
    import kill_points

    kill_points.install()
