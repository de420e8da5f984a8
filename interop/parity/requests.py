"""Requests of brokers, clients and tools, as steps, and the frames that they become.

Short names ("a", "T") become the scenario's own: they are numbered. Bodies are written as the sending version writes
them, and checksums computed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interop.harness import codes
from interop.harness.payloads import (
    compressed_body,
    data_version,
    dumps,
    register_body,
    register_ext,
    topic_config,
    wrapper,
)
from interop.harness.wire import JSON, LANGUAGE_CODES, ROCKETMQ, binary_header, frame, json_header
from interop.parity.language import NAME, PORTS, Ask, Body, Deflated, Differs, Form, RegisterBody, Request, Settle, Step

# The value of a header field that stands for the checksum of the body as it is sent.
CRC = "the checksum of the body"
FIRST_WITH_BODY, FIRST_WITH_MAPPINGS = 37, 413
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def name_of(number: int) -> str:
    """Three characters: what NAME becomes in the ``number``-th play."""
    rest, last = divmod(number, len(DIGITS))
    first, middle = divmod(rest, len(DIGITS))
    return DIGITS[first % len(DIGITS)] + DIGITS[middle] + DIGITS[last]


@dataclass(frozen=True)
class Writer:
    """Writes the frames of one play: in one form, with one number and with the listeners' ports."""

    form: Form
    number: int
    ports: tuple[int, ...] = field(default=())

    def fill(self, data: bytes) -> bytes:
        """Names and ports put in; the length stays."""
        data = data.replace(NAME.encode(), name_of(self.number).encode())
        for place, port in zip(PORTS, self.ports, strict=False):
            data = data.replace(place.encode(), str(port).encode())
        return data

    def fill_text(self, text: str) -> str:
        return self.fill(text.encode()).decode()

    def frame(self, what: Request | bytes, opaque: int) -> bytes:
        """The frame of a request; bytes are frames already. ``opaque`` is for requests that name none."""
        if isinstance(what, bytes):
            return self.fill(what)
        form = what.form or self.form
        body = self._body(what, form)
        ext = self.ext(what, body)
        opaque = opaque if what.opaque is None else what.opaque
        if form.binary:
            language = LANGUAGE_CODES[what.language]
            header = binary_header(
                what.code, ext, version=form.version, flag=what.flag, opaque=opaque, language=language
            )
            return frame(header, body, ROCKETMQ)
        header = json_header(
            what.code, ext, version=form.version, flag=what.flag, opaque=opaque, language=what.language
        )
        return frame(header, body, JSON)

    def ext(self, what: Request, body: bytes = b"") -> dict[str, str] | None:
        """The header fields as they are sent."""
        if what.ext is None:
            return None
        filled = {key: self.fill_text(str(value)) for key, value in what.ext.items() if value is not None}
        return {key: str(zlib.crc32(body) & 0x7FFFFFFF) if value == CRC else value for key, value in filled.items()}

    def _body(self, what: Request, form: Form) -> bytes:
        if isinstance(what.body, RegisterBody):
            return self._registration(what.body, form)
        if isinstance(what.body, Deflated):
            return zlib.compress(self.fill(_made(what.body.inner)), what.body.level)
        return self.fill(_made(what.body))

    def _registration(self, body: RegisterBody, form: Form) -> bytes:
        topics, mapping = self._filled(list(body.topics)), self._filled(body.mapping)
        version = dict(body.version)
        if 0 <= form.version < FIRST_WITH_BODY:
            return dumps(wrapper(topics, version, mapping))
        if body.deflated:
            with_mappings = form.version >= FIRST_WITH_MAPPINGS
            mappings = list((mapping or {}).values()) if with_mappings else None
            return compressed_body(topics, version, filters=body.filters or (), mapping=mappings)
        filters = None if body.filters is None else list(body.filters)
        return self.fill(register_body(topics, version, filters=filters, mapping=mapping))

    def _filled(self, value: Any) -> Any:
        return json.loads(self.fill(dumps(value)))


def _made(body: bytes | Callable[[], bytes]) -> bytes:
    return body if isinstance(body, bytes) else body()


Topic = str | Mapping[str, Any]
# Every kind of character that JSON writers treat in ways of their own.
AWKWARD = "a\"b\\c\td\ne\x01f/<>&'ü€😀\x7f\x85\u2028"


def own(name: str) -> str:
    """A name of the scenario's own."""
    return name + NAME


def address(host: int | str = 1) -> str:
    """The address of a broker; a text is an address already."""
    return f"h{host}-{NAME}:10911" if isinstance(host, int) else host


def topic(name: str, **settings: Any) -> dict[str, Any]:
    """TopicConfig of an own topic: perm=, read=, write=, flag=."""
    return topic_config(own(name), **settings)


def configs(topics: Iterable[Topic], **settings: Any) -> list[dict[str, Any]]:
    return [topic(one, **settings) if isinstance(one, str) else dict(one) for one in topics]


def broker(name: str = "a", host: int | str = 1, broker_id: int | None = 0, cluster: str = "C",
           **more: Any) -> dict[str, Any]:  # fmt: skip
    """The broker's fields in 104, 322, 901 and 904; a value of None leaves a field out."""
    fields = {"brokerName": own(name), "brokerAddr": address(host), "clusterName": own(cluster), "brokerId": broker_id}
    return {key: value for key, value in (fields | more).items() if value is not None}


def registration(topics: Iterable[Topic] = ("T", "U"), version: int | Mapping[str, int] = 1, *, name: str = "a",
                 host: int | str = 1, broker_id: int = 0, cluster: str = "C",
                 filters: tuple[str, ...] | None = (), mapping: Mapping[str, Any] | None = None,
                 deflated: bool = False, body: Body | None = None, form: Form | None = None, flag: int = 0,
                 perm: int = 6, **ext: Any) -> Request:  # fmt: skip
    """REGISTER_BROKER; ``body`` replaces the one made of topics, ``ext`` adds fields and with None takes them away."""
    dated = data_version(version) if isinstance(version, int) else version
    made = RegisterBody(tuple(configs(topics, perm=perm)), dated, filters, mapping, deflated)
    fields = register_ext(own(cluster), own(name), address(host), broker_id) | {"bodyCrc32": CRC}
    if deflated:
        fields["compressed"] = "true"
    fields |= ext
    return Request(codes.REGISTER_BROKER, fields, made if body is None else body, flag, form=form)


def register(*args: Any, on: str = "main", differs: Differs | None = None, **more: Any) -> Ask:
    """Ask for a registration."""
    return Ask(registration(*args, **more), on=on, differs=differs)


def ask(code: int, ext: Mapping[str, Any] | None = None, body: Body = b"", *, on: str = "main",
        differs: Differs | None = None, exact: bool = False, **more: Any) -> Ask:  # fmt: skip
    """Any request; ``more`` goes to Request."""
    return Ask(Request(code, ext, body, **more), on=on, differs=differs, exact=exact)


def route_of(name: str = "T", ext: Mapping[str, Any] | None = None, **how: Any) -> Request:
    """A lookup of an own topic; ``how`` goes to Request."""
    return Request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": own(name)} | dict(ext or {}), **how)


def route(name: str = "T", ext: Mapping[str, Any] | None = None, *, on: str = "main", differs: Differs | None = None,
          exact: bool = False, **how: Any) -> Ask:  # fmt: skip
    """GET_ROUTEINFO_BY_TOPIC of an own topic."""
    return Ask(route_of(name, ext, **how), on=on, differs=differs, exact=exact)


def routes(*names: str) -> tuple[Ask, ...]:
    """Routes as peers of today and as peers before 4.9.4 read them, in both header encodings.

    And once more by the control thread: rocketns' reactors answer no lookup with a zone. An empty one filters nothing.
    """
    asked: tuple[tuple[Form, dict[str, str]], ...] = (
        (Form(False, 513), {}), (Form(True, 400), {}), (Form(False, 513), {"__ZONE_NAME": ""}),
    )  # fmt: skip
    return tuple(route(name, ext, form=form) for name in names for form, ext in asked)


def unregistration(*args: Any, form: Form | None = None, **more: Any) -> Request:
    return Request(codes.UNREGISTER_BROKER, broker(*args, **more), form=form)


def unregister(*args: Any, on: str = "main", **more: Any) -> Ask:
    return Ask(unregistration(*args, **more), on=on)


def leave(*args: Any, **more: Any) -> tuple[Step, ...]:
    """Unregister, and wait until it has taken effect: Java's worker may come after the next request."""
    return (unregister(*args, **more), Settle())


def version_query(version: int | Mapping[str, int] | None = 1, *args: Any, body: bytes | None = None,
                  form: Form | None = None, **more: Any) -> Request:  # fmt: skip
    """QUERY_DATA_VERSION."""
    if body is None:
        dated = data_version(version) if isinstance(version, int) else version
        body = b"" if dated is None else dumps(dated)
    return Request(codes.QUERY_DATA_VERSION, broker(*args, **more), body, form=form)


def query_version(*args: Any, on: str = "main", differs: Differs | None = None, **more: Any) -> Ask:
    return Ask(version_query(*args, **more), on=on, differs=differs)


def heartbeat(*args: Any, on: str = "main", form: Form | None = None, **more: Any) -> Ask:
    return ask(codes.BROKER_HEARTBEAT, broker(*args, **more), on=on, form=form)


def members(name: str = "a", cluster: str = "C") -> Ask:
    """GET_BROKER_MEMBER_GROUP."""
    return ask(codes.GET_BROKER_MEMBER_GROUP, {"brokerName": own(name), "clusterName": own(cluster)})


def put(key: str = "k", value: str | None = "v", namespace: str = "n", **how: Any) -> Ask:
    """PUT_KV_CONFIG in an own namespace."""
    return ask(codes.PUT_KV_CONFIG, {"namespace": own(namespace), "key": key, "value": value}, **how)


def get(key: str = "k", namespace: str = "n", **how: Any) -> Ask:
    return ask(codes.GET_KV_CONFIG, {"namespace": own(namespace), "key": key}, **how)


def delete(key: str = "k", namespace: str = "n", **how: Any) -> Ask:
    return ask(codes.DELETE_KV_CONFIG, {"namespace": own(namespace), "key": key}, **how)


def kv_list(namespace: str = "n", **how: Any) -> Ask:
    return ask(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": own(namespace)}, **how)


def raw(header: str | bytes, body: bytes = b"", *, binary: bool = False, on: str = "main") -> Ask:
    """A frame around header bytes of any content."""
    data = header.encode() if isinstance(header, str) else header
    return Ask(frame(data, body, ROCKETMQ if binary else JSON), on=on)


def cluster_info(**how: Any) -> Ask:
    return ask(codes.GET_BROKER_CLUSTER_INFO, **how)


def configure(text: str | bytes, **how: Any) -> Ask:
    """UPDATE_NAMESRV_CONFIG with properties text; what it changed is changed back when the scenario is over."""
    return ask(codes.UPDATE_NAMESRV_CONFIG, None, text.encode() if isinstance(text, str) else text, **how)


def show(**how: Any) -> Ask:
    """GET_NAMESRV_CONFIG."""
    return ask(codes.GET_NAMESRV_CONFIG, **how)


def wipe(name: str = "a", **how: Any) -> Ask:
    return ask(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": own(name)}, **how)


def add(name: str = "a", **how: Any) -> Ask:
    return ask(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": own(name)}, **how)


def delete_topic(name: str = "T", cluster: str | None = None, **how: Any) -> Ask:
    ext = {"topic": own(name)} | ({} if cluster is None else {"clusterName": own(cluster)})
    return ask(codes.DELETE_TOPIC_IN_NAMESRV, ext, **how)


def queue(name: str = "a", **more: Any) -> dict[str, Any]:
    """QueueData of an own broker."""
    numbers = {"perm": 6, "readQueueNums": 1, "topicSysFlag": 0, "writeQueueNums": 2}
    return {"brokerName": own(name)} | numbers | more


def register_topic(name: str = "T", *queues: Mapping[str, Any], body: bytes | None = None, **how: Any) -> Ask:
    """REGISTER_TOPIC_IN_NAMESRV."""
    sent = dumps({"queueDatas": list(queues)}) if body is None else body
    return ask(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": own(name)}, sent, **how)


def topics_of(cluster: str = "C", **how: Any) -> Ask:
    return ask(codes.GET_TOPICS_BY_CLUSTER, {"cluster": own(cluster)}, **how)


def lists() -> tuple[Ask, ...]:
    """Every list of topics."""
    plain = (206, 304, 311, 312, 313)
    return (*(ask(code) for code in plain), topics_of())
