"""What runs inside the jail: the zygote, its children, and the layout of their reply.

A copy of this folder is placed in the sandbox's own prefix (see ``worker.sandbox.jails.prefix``), so nothing here
imports anything but the standard library and its own neighbours. The host imports :mod:`.region` for the
layout of the reply and :mod:`.kernel` to ask what the kernel can do.
"""
