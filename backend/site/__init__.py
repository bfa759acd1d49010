"""Non-resource endpoints: page, OpenAPI document, health, client wheel."""
