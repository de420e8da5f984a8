"""Groups of causes in the journal: why a broker or a name server went."""

from __future__ import annotations

# A broker was lost: its heartbeats stopped or its connection ended.
FAILURES = ("expired", "channel_close", "channel_exception", "channel_idle")
CONNECTION_ENDED = ("channel_close", "channel_exception", "channel_idle")
GRACEFUL = ("unregister",)
# The interval ended because the name server ended, or the observation did: the broker may be well.
NAME_SERVER_ENDED = ("stop", "start", "lost", "silent")
STILL_OPEN = "open"

# What names one broker address in the journal.
MEMBER = ("cluster", "broker", "bid", "addr")
