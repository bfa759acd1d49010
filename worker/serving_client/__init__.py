"""The RPC server's side of the serving process."""
