"""Code that runs inside the jail: the zygote and its children.

It is copied into the sandbox's prefix, so it imports only the standard library and itself.
"""
