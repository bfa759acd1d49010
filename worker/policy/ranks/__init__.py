"""Several processes that train one adapter: rank 0 holds weights and optimizer, the others compute shares of rows."""
