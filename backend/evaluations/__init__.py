"""Evaluations of stored completions: replays of a reward's revisions, labels and calibration."""
