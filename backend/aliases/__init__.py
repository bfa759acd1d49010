"""Aliases of adapters: names that move, and the report card that a move requires."""
