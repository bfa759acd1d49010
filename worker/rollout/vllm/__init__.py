"""The rollout engine vLLM: a server of its own in an environment of its own, asked over a socket. Nothing here
imports vllm."""
