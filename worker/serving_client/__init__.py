"""The RPC server's side of the serving process: engine choice, placement, lifetime, protocol."""
