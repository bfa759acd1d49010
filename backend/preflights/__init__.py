"""Pre-flights: short jobs that predict the behaviour and cost of a longer one."""
