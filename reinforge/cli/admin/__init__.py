"""`reinforge up`, `train`, `backup`, `project …`, `webhook …` and `worker …`."""
