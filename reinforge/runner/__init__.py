"""Runner of rollouts: takes them from a server, and runs a program of yours for each."""
