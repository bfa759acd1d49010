"""Aliases of adapters: names that can move to another adapter, and the report card that a move may require."""
