"""The training loop (`loop.train`) and its parts. Nothing here names a concrete engine or reward."""
