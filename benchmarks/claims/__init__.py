"""The claims ledger: effects that the articles state, each run again at our scale."""
