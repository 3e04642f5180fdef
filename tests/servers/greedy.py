"""A server that asks whoever connects for the password, as somebody's would who wants to learn it."""

from __future__ import annotations

import socket
import struct
import threading


class Greedy:
    """Asks whoever connects for the password as clear text, and keeps all that it is sent."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._ask, args=(connection,), daemon=True).start()

    def _ask(self, connection: socket.socket) -> None:
        with connection:
            try:
                while part := connection.recv(4096):
                    self.heard.append(part)
                    # Neither TLS nor GSS encryption; then the password, please.
                    wants = len(part) == 8 and struct.unpack("!ii", part)[1] in (80877103, 80877104)
                    connection.sendall(b"N" if wants else struct.pack("!cii", b"R", 8, 3))
            except OSError:
                return

    def close(self) -> None:
        self._listening.close()
