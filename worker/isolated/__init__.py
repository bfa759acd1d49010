"""Work on untrusted files in child processes with limits: chat templates, tokenizers."""
