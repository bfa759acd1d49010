"""Evaluations: replays of stored completions, stand-alone evaluations, labels and calibration."""
