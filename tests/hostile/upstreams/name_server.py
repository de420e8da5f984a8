"""A name server whose answers a test decides down to the byte. It runs in threads beside the program under test."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Self

from interop.harness import codes
from interop.harness.wire import ROCKETMQ, decode_binary_header, frame, json_header

QUEUES: dict[str, Any] = {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6, "topicSysFlag": 0}


class Request:
    """One request: its code, its opaque and its fields."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.code: int = header["code"]
        self.opaque: int = header["opaque"]
        self.fields: dict[str, str] = header.get("extFields") or {}


# What is sent for a request: pieces with nothing or a pause between them, as the iterable is consumed.
Says = Callable[[Request], Iterable[bytes]]


def body(request: Request, content: bytes, code: int = 0) -> bytes:
    """A whole answer."""
    return frame(json_header(code, opaque=request.opaque, flag=1), content)


def group(name: str, addr: str = "127.0.0.1:1", cluster: str = "c") -> dict[str, Any]:
    return {"cluster": cluster, "brokerName": name, "brokerAddrs": {"0": addr}}


def route(brokers: Iterable[str], **changed: int) -> bytes:
    """TopicRouteData of a topic on these brokers."""
    names = list(brokers)
    queues = [{"brokerName": name} | QUEUES | changed for name in names]
    return dumps({"brokerDatas": [group(name) for name in names], "filterServerTable": {}, "queueDatas": queues})


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Upstream:
    """Listens on ``port`` of 127.0.0.1. ``topics`` are on the one broker ``b``. ``says`` has other answers, by code."""

    def __init__(self, topics: Iterable[str] = ("t",)) -> None:
        self.topics = list(topics)
        self.says: dict[int, Says] = {}
        self.asked: Counter[int] = Counter()
        self.taken = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = self._listener.accept()
                self._sockets.append(one)
                self.taken += 1
                threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error), one.makefile("rb") as stream:
            while head := stream.read(4):
                data = stream.read(struct.unpack(">i", head)[0])
                (word,) = struct.unpack(">I", data[:4])
                header = data[4 : 4 + (word & 0xFFFFFF)]
                request = Request(decode_binary_header(header) if word >> 24 == ROCKETMQ else json.loads(header))
                self.asked[request.code] += 1
                for piece in self.says.get(request.code, self._usual)(request):
                    one.sendall(piece)
        one.close()

    def _usual(self, request: Request) -> Iterable[bytes]:
        match request.code:
            case codes.GET_BROKER_CLUSTER_INFO:
                content = dumps({"brokerAddrTable": {"b": group("b")}, "clusterAddrTable": {"c": ["b"]}})
            case codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
                content = dumps({"topicList": self.topics})
            case codes.GET_ROUTEINFO_BY_TOPIC:
                if request.fields["topic"] not in self.topics:
                    return [body(request, b"", codes.TOPIC_NOT_EXIST)]
                content = route(["b"])
            case codes.GET_NAMESRV_CONFIG:
                content = b"listenPort=9876\n"
            case codes.GET_KVLIST_BY_NAMESPACE:
                content = dumps({"table": {}})
            case _:
                return [body(request, b"", codes.REQUEST_CODE_NOT_SUPPORTED)]
        return [body(request, content)]
