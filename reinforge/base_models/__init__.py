"""Facts about base models: configuration, memory, chat templates, learning rate."""
