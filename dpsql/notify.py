"""Messages to systemd about a server's state, by a datagram to the socket that it names: sd_notify(3)."""

import contextlib
import os
import socket


def notify(**states: str) -> None:
    """Tell systemd, as `notify(READY="1", STATUS="serving taxi")`; a system without it keeps nobody from serving."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if place[:1] not in ("/", "@"):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect("\0" + place[1:] if place.startswith("@") else place)
        sender.sendall("\n".join(f"{name}={value}" for name, value in states.items()).encode())
