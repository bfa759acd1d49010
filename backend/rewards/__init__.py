"""Rewards and their immutable revisions. Only a worker's sandbox parses source code, by RPC."""
