"""The model being trained: a base model on its devices (host) and named LoRA adapters on it (policies)."""
