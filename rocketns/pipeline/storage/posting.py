"""One HTTP POST of JSON, with a timeout. No Spark here."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _

TIMEOUT_S = 5.0


class Problem(NamedTuple):
    """Why something was not taken, in the user's language. ``is_final``: another try would not change it."""

    text: str
    is_final: bool = False


class _Staying(urllib.request.HTTPRedirectHandler):
    """urllib would ask the address that the answer names, and leave the body out."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Staying)


def checked(option: str, url: str) -> str:
    """The address. BadInput if it is not one of HTTP."""
    if not url.startswith(("http://", "https://")) or not _has_host(url):
        raise BadInput(
            _("%(option)s: the address must begin with http:// or https://, and a host or host:port")
            % {"option": option}
        )
    return url


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def host_of(url: str) -> str:
    """What may be said of an address: the rest may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def post(url: str, value: Any, headers: Mapping[str, str] | None = None) -> Problem | None:
    """None if it was taken, otherwise why not."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, json.dumps(value).encode(), sent, method="POST")
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return _answered(error)
    except (OSError, ValueError, HTTPException) as error:  # the last one: what came is not HTTP
        return Problem(f"{type(error).__name__}: {error}")


def _answered(error: urllib.error.HTTPError) -> Problem:
    shown = {"code": error.code}
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return Problem(_("answered %(code)s") % shown)
    if error.code < HTTPStatus.BAD_REQUEST:
        return Problem(_("refused with %(code)s, a redirect, which is not followed") % shown, is_final=True)
    return Problem(_("refused with %(code)s") % shown, is_final=True)
