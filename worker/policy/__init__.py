"""Trained models: a base model (host) with named LoRA adapters (policies)."""
