"""Trainer records: applied once, in order; metric points and metering."""
