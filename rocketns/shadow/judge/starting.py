"""How the relay starts the judge's process."""

from __future__ import annotations

import sys
from argparse import Namespace

from rocketns.addresses import with_port

# Brokers register every 30 s, and at most every 60 s: until then a name server that started has not heard of them.
SETTLE_S = 60.0


def command(options: Namespace) -> list[str]:
    """The arguments of its process, whose standard input is the socket of the pairs. ``options``: those of the shadow.

    It asks both servers with the properties of TLS of a client. Differences in the first ``settle_s`` after a start of
    the own half do not count.
    """
    words = [sys.executable, "-m", "rocketns.shadow.judge", "--upstream", with_port(*options.upstream)]
    words += ["--settle", str(options.settle_s)]
    words += ["--reference", with_port(*options.reference)] if options.reference is not None else []
    return words + [f"-D{name}={text}" for name, text in options.system.items() if not name.startswith("tls.server.")]
