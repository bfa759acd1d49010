"""Rollouts of programs that call the model themselves: what the engine sampled for them, as rows to train on."""
