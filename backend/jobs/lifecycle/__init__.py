"""Changes of a job's state: transitions, commands, settings, forks, leases, the queue."""
