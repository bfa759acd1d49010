"""Several processes (ranks) that train one adapter: rank 0 has weights and optimizer, the others compute
shares of rows.
"""
