"""Where the corpus is."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).parents[2] / "tests" / "golden" / "traffic" / "clients.frames"
NOTE = "real clients and the Java name server 5.5.0; peer is the client; made by python -m interop.traffic.capture"
