"""Changes of a job's state: transitions, commands, forks, leases, the queue."""
