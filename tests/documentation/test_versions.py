"""Versions beside each other in one folder."""

from __future__ import annotations

import json
from pathlib import Path

from website.versions import index


def test_the_newest_comes_first_and_is_where_readers_arrive(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "0.10.0.dev1"):
        for language in ("en", "zh"):
            (tmp_path / language / version).mkdir(parents=True)
            (tmp_path / language / version / "index.html").write_text("")
    index(tmp_path)
    for language in ("en", "zh"):
        named = [one["version"] for one in json.loads((tmp_path / language / "versions.json").read_text())]
        assert named == ["0.10.0", "0.10.0.dev1", "0.9.0"]
        assert "0.10.0/index.html" in (tmp_path / language / "index.html").read_text("utf-8")
