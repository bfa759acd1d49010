"""Clients of engine hosts: servers for jobs and for the serving process."""
