"""Trained models: a base model on its devices (host) with named LoRA adapters (policies)."""
