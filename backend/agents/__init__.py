"""Rollouts of programs that call the model themselves."""
