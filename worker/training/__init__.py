"""The training loop (`loop.train`) and its parts."""
