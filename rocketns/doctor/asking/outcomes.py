"""Why an address gives no answer, from the error of the connection."""

from __future__ import annotations

import errno
import re
import socket
import ssl

from rocketns.client.reading import NO_FRAME
from rocketns.doctor.facts.reach import Outcome

# Of several addresses of one host asyncio raises one OSError without a number; its text has all of them.
_ERRNO = re.compile(r"\[Errno (-?[0-9]{1,5})\]")
_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN, errno.EADDRNOTAVAIL}


def outcome_of(error: BaseException) -> Outcome:
    """What an error of `RemotingClient` means, or of one of its causes."""
    for cause in _causes(error):
        match cause:
            case socket.gaierror():
                return Outcome.UNRESOLVED
            case ssl.SSLError():
                return Outcome.CLOSED
            case TimeoutError() if cause.errno is None:
                return Outcome.SILENT if str(error).startswith("no answer") else Outcome.TIMED_OUT
            case OSError():
                return _of_system(cause)
            case _:
                pass
    return Outcome.OTHER_PROTOCOL if NO_FRAME in str(error) else Outcome.CLOSED


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        error = error.__cause__
    return found


def _of_system(error: OSError) -> Outcome:
    numbers = {error.errno} if error.errno is not None else {int(one) for one in _ERRNO.findall(str(error))}
    if numbers == {errno.ECONNREFUSED}:
        return Outcome.REFUSED
    if numbers & _UNREACHABLE:
        return Outcome.UNREACHABLE
    return Outcome.TIMED_OUT if errno.ETIMEDOUT in numbers else Outcome.CLOSED
