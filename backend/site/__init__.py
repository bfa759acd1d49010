"""What the server publishes besides resources: page, OpenAPI document, health, client wheel."""
