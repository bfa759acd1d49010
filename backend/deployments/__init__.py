"""Deployments: named weights that workers load and serve on demand."""
