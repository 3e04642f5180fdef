"""A wire between a client and a server that can be cut at the worst moment."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Literal

Moment = Literal["before", "during", "after"]


class Proxy:
    """Forwards connections; cuts those on which the client says a word, as often as it is told to."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._word, self._moment, self.cuts_left = b"", "before", 0
        self._closed = Event()
        self._accepting = Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self, word: bytes, moment: Moment, times: int = 1) -> None:
        """Cut the wire when the client says a word: before the server hears it, at work, or after it has answered."""
        self._word, self._moment, self.cuts_left = word, moment, times

    def close(self) -> None:
        self._closed.set()
        self._accepting.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            if select.select([self._listener], [], [], 0.05)[0]:
                client, _ = self._listener.accept()
                Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        with client, server:
            while not self._closed.is_set():
                for ready in select.select([client, server], [], [], 0.05)[0]:
                    try:
                        data = ready.recv(65536)
                        if not data or (ready is client and self._cut_now(data, server)):
                            return
                        (server if ready is client else client).sendall(data)
                    except OSError:
                        return

    def _cut_now(self, data: bytes, server: socket.socket) -> bool:
        if not self.cuts_left or self._word not in data:
            return False
        self.cuts_left -= 1
        if self._moment != "before":
            server.sendall(data)
        if self._moment == "during":
            time.sleep(0.2)
        if self._moment == "after":
            # The answer tells that the server is done; nobody hears it.
            server.recv(65536)
        return True


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
