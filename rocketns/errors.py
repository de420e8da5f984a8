"""One root for every error. An error that becomes a reply knows its response code and remark.

The codes are written as numbers because this layer imports nothing; `protocol/codes.py` names them.
"""

from __future__ import annotations


class RocketnsError(Exception):
    """Root of all errors that rocketns raises on purpose."""


class MalformedFrame(RocketnsError):
    """Bytes that Java's NettyDecoder refuses: the connection is closed and nothing is answered."""


class RequestError(RocketnsError):
    """A request that is answered with ``response_code`` and a remark instead of a result.

    ``remark`` may be None (Java answers a full unregistration queue so).
    ``header_made`` says whether Java had created the response header by then, which shows as ``"extFields":{}``.
    """

    response_code = 1  # SYSTEM_ERROR
    header_made = False

    def __init__(self, remark: str | None) -> None:
        super().__init__(remark)
        self.remark = remark


class BodyDecodeError(RequestError):
    """A request body that Java's decoder refuses. ``java_class`` is what Java throws."""

    java_class = "com.alibaba.fastjson2.JSONException"


class NullRefused(BodyDecodeError):
    """A null that Java's concurrent maps refuse."""

    java_class = "java.lang.NullPointerException"


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
    """No route for the topic: ClientRequestProcessor.getRouteInfoByTopic."""

    response_code = 17  # TOPIC_NOT_EXIST

    def __init__(self, topic: str | None) -> None:
        name = "null" if topic is None else topic
        super().__init__(
            f"No topic route info in name server for the topic: {name}\n"
            "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
        )


class QueryNotFound(RequestError):
    """A KV namespace or key that does not exist."""

    response_code = 22  # QUERY_NOT_FOUND


class GoAway(RequestError):
    """The server is stopping; peers that understand it connect to another one."""

    response_code = 1500  # GO_AWAY


class TlsError(RocketnsError):
    """TLS cannot be had as it is configured: connections that want it are closed, the others are served."""


class TlsContentError(TlsError):
    """A file that TLS needs is there, but does not hold what it should: Java does not start with such a one."""


class StartupError(RocketnsError):
    """The server cannot start. ``exit_status`` is what Java's NamesrvStartup exits with."""

    def __init__(self, message: str, exit_status: int = 255) -> None:
        super().__init__(message)
        self.exit_status = exit_status
