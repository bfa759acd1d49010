"""Rollouts that external programs (agents) run, calling the model themselves."""
