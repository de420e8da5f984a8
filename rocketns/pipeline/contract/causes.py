"""Groups of causes in the journal: why a broker or a name server went."""

from __future__ import annotations

# A broker was lost: its heartbeats stopped, its connection ended, or it was kept without a sign of life and given up.
FAILURES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")
CONNECTION_ENDED = ("refused", "channel_close", "channel_exception", "channel_idle")
SILENT = ("expired", "unconfirmed")
# Noticed later than by the other name servers: at a deadline, or after a restart.
NOTICED_LATE = ("expired", "unconfirmed", "refused")
GRACEFUL = ("unregister",)
# A watched name server no longer shows it. It may have been lost, or stopped as it should.
OBSERVED = ("observed",)
# The interval ended because the name server ended, or the observation did: the broker may be well.
NAME_SERVER_ENDED = ("stop", "start", "lost", "silent")
STILL_OPEN = "open"

# Why a window may not be a real difference: records were lost, or clocks are not known well enough.
LOST_RECORDS, CLOCKS = "lost_records", "clocks"
