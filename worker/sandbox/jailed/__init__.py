"""Code that runs inside the jail: the zygote, its children, and the layout of their reply.

Its modules are copied into the sandbox's prefix, so they import only the standard library and
each other.
"""
