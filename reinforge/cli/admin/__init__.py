"""`reinforge up`, `top`, `train`, `backup`, `project …`, `webhook …` and `worker …`."""
