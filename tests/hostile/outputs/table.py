"""The figures of docs/limits.md: what one byte from a stranger can become. A test compares them with the document."""

from __future__ import annotations

from rocketns.admin.api.answers import PAGE_BYTES_MAX
from rocketns.admin.api.handlers import ROUTE_BYTES_MAX
from rocketns.admin.page.stream import MESSAGE_BYTES_MAX

# Bytes of an output for one byte of names that were sent, before they were deflated.
ANSWER_FACTOR = 20
JOURNAL_FACTOR = 7
# Of one request.
LOG_BYTES = 150_000
# Of one answer, one message, and one scrape.
API_BYTES = PAGE_BYTES_MAX + ROUTE_BYTES_MAX
STREAM_BYTES = MESSAGE_BYTES_MAX + 192 * 1024  # with a status of names of the longest kind
METRIC_BYTES = 512 * 1024
