"""The training loop and what it is made of. Start with `loop.train`; nothing here names a concrete engine or reward."""
