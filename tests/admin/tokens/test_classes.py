"""Each path of the management port needs exactly one class of token."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from rocketns.admin import features, probes
from rocketns.admin.tokens import classes
from rocketns.admin.tokens.classes import OPEN, PATHS, TokenClass, UnclassedPath, class_of
from tests.admin.conftest import Managed

SERVED = [path for feature in features.FEATURES for path in feature.paths]


def test_each_served_path_has_one_row() -> None:
    for path in SERVED:
        rows = [row for row in PATHS if row == path or (row.endswith("*") and path.startswith(row[:-1]))]
        assert len(rows) == 1, path


def test_each_row_has_a_path() -> None:
    used = {path if path in PATHS else f"{path.rpartition('/')[0]}/*" for path in SERVED}
    assert used == set(PATHS)


def test_only_files_of_the_page_are_open() -> None:
    assert {path for path in SERVED if class_of(path) is OPEN} == {p for p in SERVED if p == "/" or "/page/" in p}


@pytest.mark.parametrize(
    ("path", "needed"),
    [("/livez", "probe"), ("/readyz", "probe"), ("/metrics", "scrape"), ("/drainz", "drain"), ("/api/v1/kv", "read"),
     ("/api/v1/stream", "read"), ("/api/v1/openapi.json", "read")],
)  # fmt: skip
def test_what_a_path_needs(path: str, needed: str) -> None:
    assert class_of(path) is TokenClass(needed)


@pytest.mark.parametrize(
    "path",
    ["/%6Detrics", "/livez/", "//livez", "/LIVEZ", "/page/", "/page/*", "/page/..", "/page/../api/v1/kv",
     "/page/%2e%2e", "/page/a%2Fb", "/api/v1/", "/api/v1/kv/", "/api/v1/*", "/api/v1", "/api/v2/kv",
     "/livez#x", "/livez;x", "*", ""],
)  # fmt: skip
def test_another_spelling_of_a_path_has_no_class(path: str) -> None:
    with pytest.raises(UnclassedPath):
        class_of(path)


def test_a_feature_with_a_path_without_a_class_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "PATHS", (*probes.PATHS, "/new"))
    with pytest.raises(UnclassedPath, match="/new has no class in"):
        importlib.reload(features)
    monkeypatch.undo()
    importlib.reload(features)


def test_a_server_whose_feature_adds_a_path_without_a_class_does_not_start(
    monkeypatch: pytest.MonkeyPatch, start_managed: Callable[..., Managed]
) -> None:
    monkeypatch.setattr(classes, "PATHS", {row: kind for row, kind in PATHS.items() if row != "/metrics"})
    with pytest.raises(UnclassedPath, match="/metrics"):
        start_managed()
