"""The policy loss and its terms: ratios, surrogates, KL, entropy, aggregation."""
