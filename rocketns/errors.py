"""All errors of rocketns, with one base class. An error that becomes a reply has its response code and remark.

And what is said where an optional part is missing: no package index has rocketns.

The codes are numbers because this layer imports nothing; `protocol/codes.py` has their names.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec


class RocketnsError(Exception):
    """Base class of all errors that rocketns raises."""


class MalformedFrame(RocketnsError):
    """Bytes that Java's NettyDecoder refuses. The connection is closed without an answer."""


class RequestError(RocketnsError):
    """A request that is answered with ``response_code`` and a remark instead of a result.

    ``remark`` may be None: Java answers without one when the unregistration queue is full.
    ``header_made`` is true if Java creates the response header before the error; the answer then has
    ``"extFields":{}``.
    """

    response_code = 1  # SYSTEM_ERROR
    header_made = False

    def __init__(self, remark: str | None) -> None:
        super().__init__(remark)
        self.remark = remark


class BodyDecodeError(RequestError):
    """A request body that Java's decoder refuses. ``java_class`` is the class of Java's exception."""

    java_class = "com.alibaba.fastjson2.JSONException"


class NullRefused(BodyDecodeError):
    """A null in a place where Java's ConcurrentHashMap throws."""

    java_class = "java.lang.NullPointerException"


class NameTooLong(BodyDecodeError):
    """A name that is longer than ``rocketns.nameBytesMax``. The remark does not repeat it."""

    java_class = "org.apache.rocketmq.remoting.exception.RemotingCommandException"

    def __init__(self, what: str, size: int, most: int) -> None:
        super().__init__(f"{what} has {size} bytes, more than rocketns.nameBytesMax={most}")


class TablesFull(RequestError):
    """A request that would add more to the route tables than a limit allows. Nothing of it is applied. ``limit``: the
    property, or what has none, with its value.
    """

    def __init__(self, what: str, limit: str, most: int) -> None:
        super().__init__(f"{what}, more than {limit}={most}; nothing of the request is applied")
        self.limit = limit, most


class BeyondBounds(RequestError):
    """A registration beyond what its principal may have. Nothing of it is applied. ``bound``: its name in a policy."""

    response_code = 2  # SYSTEM_BUSY

    def __init__(self, what: str, principal: str, bound: str = "", most: int = 0) -> None:
        than = f"more than {bound}={most} of principal" if bound else "and this is beyond the bounds of principal"
        super().__init__(f"[BOUND]{what}, {than} {principal}; nothing of the request is applied")


class AnswerTooLarge(RequestError):
    """An answer that one connection may not have, or for which control would be busy for long."""

    def __init__(self, limit: str, most: int) -> None:
        super().__init__(f"{limit}={most}")


class SystemBusy(RequestError):
    """The bounded queue in front of a processor is full."""

    response_code = 2  # SYSTEM_BUSY


class RequestCodeNotSupported(RequestError):
    """No processor knows the request code."""

    response_code = 3  # REQUEST_CODE_NOT_SUPPORTED

    def __init__(self, code: int) -> None:
        super().__init__(f" request type {code} not supported")


class NoPermission(RequestError):
    """A configuration property that may not be changed at run time."""

    response_code = 16  # NO_PERMISSION


class TopicNotExist(RequestError):
    """No route for the topic: ClientRequestProcessor.getRouteInfoByTopic. ``faq`` is that of a Release."""

    response_code = 17  # TOPIC_NOT_EXIST

    def __init__(self, topic: str | None, faq: str) -> None:
        name = "null" if topic is None else topic
        super().__init__(f"No topic route info in name server for the topic: {name}\nSee {faq} for further details.")


class QueryNotFound(RequestError):
    """A KV namespace or key that does not exist."""

    response_code = 22  # QUERY_NOT_FOUND


class GoAway(RequestError):
    """The server is stopping. Peers that know this code connect to another name server."""

    response_code = 1500  # GO_AWAY


class TlsError(RocketnsError):
    """TLS does not work as configured. TLS connections are closed, plain ones are served."""


class TlsContentError(TlsError):
    """A file for TLS exists and has invalid content. Java does not start with such a file."""


class StartupError(RocketnsError):
    """The server cannot start. ``exit_status`` is that of Java's NamesrvStartup."""

    def __init__(self, message: str, exit_status: int = 255) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def install_command(extra: str) -> str:
    """The command for a shell. pip takes the extra from the rocketns that this Python has."""
    return f"{shlex.quote(sys.executable)} -m pip install 'rocketns[{extra}]'"


def check_installed(asked: str, extra: str, needed: Mapping[str, str]) -> None:
    """StartupError if a library of an optional part is missing. ``needed``: names of projects by those of modules."""
    missing = [project for module, project in needed.items() if find_spec(module) is None]
    if missing:
        raise StartupError(f"{asked} needs {' and '.join(missing)}. Install the extra: {install_command(extra)}")
