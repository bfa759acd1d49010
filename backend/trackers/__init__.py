"""Experiment trackers (Weights & Biases, MLflow) and the live export of jobs to them."""
