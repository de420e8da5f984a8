"""Requests of brokers, clients and tools, as steps. Short names ("a", "T") become the scenario's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext, topic_config
from interop.harness.wire import JSON, ROCKETMQ, frame
from interop.parity.language import NAME, Ask, Body, Differs, Form, RegisterBody, Request, Settle, Step
from interop.parity.requests import CRC

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
    """Routes as peers of today and as peers before 4.9.4 read them, in both header encodings."""
    forms = (Form(False, 513), Form(True, 400))
    return tuple(route(name, form=form) for name in names for form in forms)


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
