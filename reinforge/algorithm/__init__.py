"""Settings of the training algorithm in a job's specification; `worker.algorithm` has the functions."""
