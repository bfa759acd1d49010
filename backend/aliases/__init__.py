"""Aliases of adapters. Moving an alias may require a report card."""
