"""Evaluations: replays of a job's stored completions, stand-alone ones, labels and calibration."""
