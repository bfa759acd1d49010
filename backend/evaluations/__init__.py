"""Evaluations: replays, stand-alone evaluations, labels, calibration."""
