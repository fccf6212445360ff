"""Messages between host and server over one stream socket: a length, JSON, and the file descriptors of a run. Both sides import it."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")
LARGEST = 256 << 20
"""Bytes; a longer message means that the two sides no longer understand each other."""


class Closed(Exception):
    """The other side is gone."""


def send(connection: socket.socket, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message; the descriptors travel with its length. Closed when nobody is there to read it."""
    head = _LENGTH.pack(len(body))
    try:
        if descriptors:
            socket.send_fds(connection, [head], list(descriptors))
        else:
            connection.sendall(head)
        connection.sendall(body)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise Closed from error


def receive(connection: socket.socket, descriptors: int = 0) -> tuple[bytes, list[int]]:
    """Wait for one message and up to ``descriptors`` file descriptors; Closed at the end of the stream."""
    head, received = b"", []
    try:
        while len(head) < _LENGTH.size:
            part, new, _, _ = socket.recv_fds(connection, _LENGTH.size - len(head), descriptors)
            received += new
            if not part:
                raise Closed
            head += part
        (size,) = _LENGTH.unpack(head)
        if size > LARGEST:
            raise Closed
        return _exactly(connection, size), received
    except ConnectionResetError as error:
        raise Closed from error


def send_json(connection: socket.socket, document: dict[str, Any]) -> None:
    """Send one JSON object."""
    send(connection, json.dumps(document).encode())


def receive_json(connection: socket.socket) -> dict[str, Any]:
    """Wait for one JSON object."""
    document = json.loads(receive(connection)[0])
    if not isinstance(document, dict):
        raise Closed
    return document


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise Closed
        data += part
    return bytes(data)
