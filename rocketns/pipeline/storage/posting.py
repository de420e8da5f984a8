"""One HTTP POST of JSON, with a timeout. No Spark here."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from rocketns.pipeline.contract.errors import BadInput

TIMEOUT_S = 5.0
REFUSED = "refused"


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
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        with error:
            again = error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS
            return f"{'answered' if again else REFUSED + ' with'} {error.code}"
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
