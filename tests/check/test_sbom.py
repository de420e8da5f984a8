"""The image's software bill of materials: what pip installed, by name, version and hash."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from tests.check import locks

SCRIPT = locks.FOLDER / "sbom.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("sbom", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installed(name: str, pin: locks.Pin, *needs: str) -> dict[str, Any]:
    """An item of pip's report, which took the last of the files that the lock allows."""
    _, _, digest = pin.hashes[-1].partition(":") if pin.hashes else ("", "", "")
    return {
        "download_info": {"archive_info": {"hashes": {"sha256": digest}}} if digest else {},
        "metadata": {"name": name, "version": pin.version, "requires_dist": list(needs)},
    }


ROCKETNS = installed("rocketns", locks.Pin("1.2"), 'aiohttp>=3; extra == "admin"', 'pyspark; extra == "spark"', "isal")


@pytest.fixture(scope="module")
def text() -> str:
    pins = locks.pins(locks.FOLDER / "requirements.txt")
    needed = {name: [other for other, pin in pins.items() if name in pin.needed_by] for name in pins}
    return str(script().bill([installed(name, pin, *needed[name]) for name, pin in pins.items()], ROCKETNS))


def test_it_lists_each_pinned_dependency_with_version_and_hash(text: str) -> None:
    listed = {
        one["name"]: (one["version"], [f"sha256:{each['content']}" for each in one["hashes"]])
        for one in json.loads(text)["components"]
    }
    pins = locks.pins(locks.FOLDER / "requirements.txt")
    assert listed == {name: (pin.version, pin.hashes[-1:]) for name, pin in pins.items()}


def test_it_says_who_needs_whom(text: str) -> None:
    """Of the extras, only what the image has."""
    graph = {one["ref"]: one.get("dependsOn", []) for one in json.loads(text)["dependencies"]}
    pins = locks.pins(locks.FOLDER / "requirements.txt")
    urls = {name: f"pkg:pypi/{name}@{pin.version}" for name, pin in pins.items()}
    assert graph["pkg:generic/rocketns@1.2"] == [urls["aiohttp"], urls["isal"]]
    assert urls["cryptography"] in graph[urls["pyopenssl"]]


def test_it_fits_cyclonedx_schema(text: str) -> None:
    """The validator is imported only here: it needs seconds, which each worker would spend when it collects."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"version"', '"versoin"')) is not None


def test_the_same_installation_gives_the_same_bytes() -> None:
    one = installed("a", locks.Pin("1", ["sha256:" + "0" * 64]))
    assert script().bill([one], ROCKETNS) == script().bill([one], ROCKETNS)
    assert script().bill([one], ROCKETNS) != script().bill([], ROCKETNS)


@pytest.mark.parametrize(("said", "listed"), [("MIT", [{"license": {"id": "MIT"}}]), ("text " * 100, None)])
def test_a_licence_is_listed_where_its_name_is_known(said: str, listed: object) -> None:
    one = installed("a", locks.Pin("1"))
    one["metadata"]["license"] = said
    [found] = json.loads(script().bill([one], ROCKETNS))["components"]
    assert found.get("licenses") == listed
