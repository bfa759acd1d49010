"""One vLLM server for several jobs, the playground, evaluations and deployments."""
