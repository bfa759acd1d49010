"""Machines that lack something, imitated by a system-call filter around the whole daemon, as a container has one."""

from worker.sandbox.jails import bpf

_CLONE, _CLONE3, _LANDLOCK_CREATE = 56, 435, 444
_NAMESPACE_CALLS = (155, 165, 166, 272, 308)
"""pivot_root, mount, umount2, unshare, setns."""
_EOPNOTSUPP = 95


def without(*, namespaces: bool = False, landlock: bool = False) -> bytes:
    """Allows everything but what Docker's default profile denies, or Landlock, or both."""
    load, equal, any_bit, end = 0x20, 0x15, 0x45, 0x06
    allow = bpf._op(end, 0x7FFF0000)
    program = [bpf._op(load, 0)]

    def deny(number: int, error: int) -> None:
        program.extend([bpf._op(equal, number, 0, 1), bpf._errno(error)])

    if landlock:
        deny(_LANDLOCK_CREATE, _EOPNOTSUPP)
    if namespaces:
        deny(_CLONE3, bpf.ENOSYS)
        for number in _NAMESPACE_CALLS:
            deny(number, bpf.EPERM)
        inspect = [
            bpf._op(load, 16),
            bpf._op(any_bit, bpf.CLONE_NAMESPACES, 0, 1),
            bpf._errno(bpf.EPERM),
            allow,
        ]
        program += [bpf._op(equal, _CLONE, 0, len(inspect)), *inspect]
    return b"".join([*program, allow])


def script(filter_: bytes) -> str:
    """For ``running_daemon``: the daemon under a filter that nothing it starts can take off."""
    return (
        "import sys\nfrom worker.sandbox.jailed import kernel\n"
        f"kernel.install_filter(bytes.fromhex({filter_.hex()!r}))\n"
        "from worker.sandbox.__main__ import main\nsys.exit(main(['--socket', *sys.argv[1:]]))\n"
    )
