"""Page, OpenAPI document, health, client wheel."""
