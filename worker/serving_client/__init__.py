"""The serving process as the RPC server sees it: choice of engine, placement, lifetime, protocol."""
