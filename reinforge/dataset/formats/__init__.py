"""Readers of dataset files: JSONL, CSV and Parquet."""
