"""Datasets: upload, inspection, storage."""
