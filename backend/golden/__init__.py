"""Golden cases of rewards: storage, runs, and the check before a job starts."""
