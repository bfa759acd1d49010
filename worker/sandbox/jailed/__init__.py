"""Code that runs inside the jail: the zygote, its children, and the layout of their reply.

This folder is copied into the sandbox's prefix (``worker.sandbox.jails.prefix``), so its modules import only
the standard library and each other. The host imports :mod:`.region` for the layout and :mod:`.kernel` to
query the kernel.
"""
