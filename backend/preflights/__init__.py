"""Pre-flights: short jobs that measure what a longer one would be."""
