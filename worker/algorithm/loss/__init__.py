"""The policy loss and what it is made of: ratios, surrogates, KL, entropy, aggregation."""
