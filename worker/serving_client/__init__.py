"""Client of the serving process, for the RPC server."""
