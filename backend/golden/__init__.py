"""Golden cases of rewards: kept, run, and asked before a job starts."""
