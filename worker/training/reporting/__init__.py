"""What a job reports: records, metrics by step and by slice, completions as Parquet."""
