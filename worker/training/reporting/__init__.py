"""Reports of a job: records, metrics by step and by slice, completions as Parquet."""
