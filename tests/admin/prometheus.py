"""A real Prometheus beside real servers, with the alert rules of `packaging/prometheus`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

from interop.harness.ports import free_port
from tests.admin.http import Http
from tests.check.source import ROOT

RULES = ROOT / "packaging" / "prometheus" / "rocketns.rules.yml"
CONFIG = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}
rule_files: ["{rules}"]
scrape_configs: [{{job_name: rocketns, static_configs: [{{targets: {targets}}}]}}]
"""


class Prometheus:
    """A running Prometheus that scrapes ports of this machine. Instances are ``127.0.0.1:port``.

    ``held``: how long a rule's condition must last, instead of each rule's own ``for:``, such as ``1s``.
    """

    def __init__(self, home: Path, *scraped: int, held: str | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        rules, config, port = home / "rules.yml", home / "prometheus.yml", free_port()
        text = RULES.read_text("utf-8")
        rules.write_text(text if held is None else re.sub(r"(?m)^( +for: ).*$", rf"\g<1>{held}", text), "utf-8")
        targets = json.dumps([f"127.0.0.1:{one}" for one in scraped])
        config.write_text(CONFIG.format(rules=rules, targets=targets), "utf-8")
        self._log = (home / "prometheus.log").open("wb")
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={home / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._http = Http(port)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The instant vector of an expression; empty while Prometheus starts."""
        try:
            answer = self._http.ask(f"/api/v1/query?query={quote(expression)}")
        except OSError:
            return []
        if answer.status == 503:
            return []
        value = json.loads(answer.body)
        assert value["status"] == "success", value
        found: list[dict[str, Any]] = value["data"]["result"]
        return found

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that fire, with their labels and annotations."""
        answer = json.loads(self._http.ask("/api/v1/alerts").body)
        return [one for one in answer["data"]["alerts"] if one["state"] == "firing"]

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()
