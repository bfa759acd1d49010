"""Aliases of adapters, and the report card that moving one may require."""
