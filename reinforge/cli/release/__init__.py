"""Commands that judge and release adapters: report cards, aliases, promotion."""
