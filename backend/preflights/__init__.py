"""Pre-flights: short jobs that predict a longer one."""
