"""Trainer records: application, metric points, metering."""
