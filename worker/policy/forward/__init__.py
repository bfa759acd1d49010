"""Forward and backward passes: micro-batches, attention, log-probabilities, memory."""
