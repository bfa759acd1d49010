"""Examples with data and rewards: listing, and starting one as a job."""
