"""Records of trainers: applied once, in order; metric points and metering."""
