"""Evaluation results: summaries with intervals, golden cases, replays, calibration."""
