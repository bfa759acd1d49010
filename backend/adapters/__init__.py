"""LoRA adapters, trained by a job or uploaded."""
