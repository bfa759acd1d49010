"""307 sockets

GOAL: reach the network
KIND: script
ACCEPT: ok, exception
MUST: no socket of any family
"""
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, 40, 16, 17, 38):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
            print("succeeded", family, kind)
        except OSError: pass
