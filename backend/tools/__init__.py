"""Tools of environments, before a job has them."""
