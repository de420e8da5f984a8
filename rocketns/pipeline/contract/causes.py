"""Groups of causes in the journal: why a broker or a name server went."""

from __future__ import annotations

# A broker was lost: its heartbeats stopped, its connection ended, or it was kept without a sign of life and given up.
FAILURES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")
CONNECTION_ENDED = ("refused", "channel_close", "channel_exception", "channel_idle")
SILENT = ("expired", "unconfirmed")
# Noticed later than by the other name servers: at a deadline, after a restart, or at an observer's next look.
NOTICED_LATE = ("expired", "unconfirmed", "refused", "observed")
GRACEFUL = ("unregister",)
# A watched name server no longer shows it. It may have been lost, or stopped as it should.
OBSERVED = ("observed",)
# The interval ended because the name server ended, or the observation did: the broker may be well.
# What it had when it started, or when an observer began to watch it, and that the observer no longer watched it.
STARTED, WATCHED, UNWATCHED = "start", "watched", "unwatched"
NAME_SERVER_ENDED = ("stop", STARTED, "lost", "silent", WATCHED, UNWATCHED)
STILL_OPEN = "open"

# Why a window may not be a real difference: records were lost, or clocks are not known well enough.
LOST_RECORDS, CLOCKS = "lost_records", "clocks"
