"""Agent rollouts: a program calls the model itself, and the sampled tokens become training rows."""
