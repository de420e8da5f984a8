"""One HTTP POST of JSON, with a timeout. No Spark here."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from rocketns.pipeline.contract.errors import BadInput

TIMEOUT_S = 5.0
REFUSED = "refused"


class _Staying(urllib.request.HTTPRedirectHandler):
    """urllib would ask the address that the answer names, and leave the body out."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Staying)


def checked(option: str, url: str) -> str:
    """The address. BadInput if it is not one of HTTP."""
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"{option} {url}: the address must begin with http:// or https://")
    return url


def post(url: str, value: Any, headers: Mapping[str, str] | None = None) -> str | None:
    """None if it was taken, otherwise why not. A reason that begins with REFUSED will not change."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, json.dumps(value).encode(), sent, method="POST")
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return _answered(error)
    except (OSError, ValueError, HTTPException) as error:  # the last one: what came is not HTTP
        return f"{type(error).__name__}: {error}"


def _answered(error: urllib.error.HTTPError) -> str:
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return f"answered {error.code}"
    moved = error.headers.get("Location") if error.code < HTTPStatus.BAD_REQUEST else None
    return f"{REFUSED} with {error.code}" + (f", which names another address: {moved}" if moved else "")
