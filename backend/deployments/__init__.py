"""Deployments: weights under a name, loaded by a worker when they are asked."""
