"""Algorithm in a job's specification; `worker.algorithm` computes it, with the same `type`s."""
