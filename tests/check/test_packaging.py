"""What packaging/ ships: systemd units, lock files that follow pyproject.toml, and the bill of materials."""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import re
import runpy
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from rocketns import cli
from rocketns.config import Configuration
from rocketns.config.limits import Limits
from rocketns.server.listening import SPARE_DESCRIPTORS
from tests.check import locks
from tests.check.source import ROOT

UNITS = ROOT / "packaging" / "systemd"
# systemd's exposure score of a service, 0 to 10, in tenths: lower is safer. Most services of a system have 90.
EXPOSURE_MAX = 12


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / name)
    return parser


def test_the_debian_package_runs_by_the_python_of_debian() -> None:
    """Not by one that only the machine of the build has, which may be the first on its PATH."""
    rules = (ROOT / "packaging" / "debian" / "rules").read_text("utf-8")
    assert re.findall(r"\S*python3(?= -[mc])", rules) == ["/usr/bin/python3"] * 4


# A folder that is a mount of its own on every Linux.
MOUNTED = "/dev/shm"
LAUNCHER = ROOT / "packaging" / "docker" / "bin" / "mqnamesrv"
NEVER_EXEC = f'exec() {{ echo "$@"; }}; . {LAUNCHER}'


@pytest.mark.parametrize(
    ("environment", "options", "to_file"),
    [
        ({"JAVA_OPT": f"-Xmx1g -Duser.home={MOUNTED}"}, [], True),
        ({"JAVA_OPT": "-Duser.home=/none", "JAVA_OPT_EXT": f"-Duser.home={MOUNTED}"}, [], True),
        ({}, [f"-Duser.home={MOUNTED}", "-c", "file"], True),
        ({"JAVA_OPT": f"-Duser.home={MOUNTED}"}, ["-Duser.home=/none"], False),
        ({"HOME": MOUNTED}, [], True),
        ({"HOME": MOUNTED}, ["-Duser.home=/none"], False),
        ({}, [], False),
    ],
)
def test_the_image_logs_to_a_file_where_the_home_that_java_would_use_is_mounted(
    environment: dict[str, str], options: list[str], *, to_file: bool
) -> None:
    """Wherever user.home is defined. Otherwise the file would be in the container, where nobody reads it."""
    run = subprocess.run(["bash", "-c", NEVER_EXEC, "bash", *options], env={"PATH": os.environ["PATH"]} | environment,
                         check=True, capture_output=True, text=True)  # fmt: skip
    expected = [*(["--log-files"] if to_file else []), *options]
    assert run.stdout.split() == ["/opt/rocketns/bin/mqnamesrv", *expected]


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_the_units_and_allows_them_little(tmp_path: Path) -> None:
    for source in UNITS.glob("rocketns.s*"):
        text = source.read_text("utf-8").replace("/opt/rocketns/bin/rocketns", "/bin/true")
        (tmp_path / source.name).write_text(text, "utf-8")
    service, listening = str(tmp_path / "rocketns.service"), str(tmp_path / "rocketns.socket")
    threshold = ("--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager")
    for words in (("verify", service, listening), ("security", *threshold, service)):
        result = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


def test_the_unit_starts_the_program_with_properties_that_take_effect(tmp_path: Path) -> None:
    service = unit("rocketns.service")["Service"]
    options = cli.parse(service["ExecStart"].split()[1:])
    assert options.config_file == "/etc/rocketns/namesrv.properties"
    assert options.system == [("user.home", "/var/lib/rocketns")]
    configuration = Configuration.build(str(UNITS / "namesrv.properties"), home=tmp_path)
    assert configuration.warnings() == []
    limits = Limits()
    wanted = limits.connections_max + limits.outgoing_connections_max + SPARE_DESCRIPTORS
    assert int(service["LimitNOFILE"]) >= wanted
    # Secrets reach neither a core file nor swap nor other users.
    assert [service[name] for name in ("LimitCORE", "MemorySwapMax", "UMask")] == ["0", "0", "0077"]
    assert unit("rocketns.socket")["Socket"]["Accept"] == "no"


@pytest.mark.parametrize("path", locks.wanted(), ids=lambda path: path.name)
def test_a_lock_file_follows_pyproject(path: Path) -> None:
    pins = locks.pins(path)
    wanted = {canonicalize_name(one.name): one for one in locks.wanted()[path]}
    for name, requirement in wanted.items():
        assert name in pins, f"{requirement} is not pinned: make locks"
        assert pins[name].version in requirement.specifier, f"{requirement}, not {pins[name].version}: make locks"
    needless = {name for name, pin in pins.items() if not pin.needed_by} - set(wanted)
    assert not needless, f"pinned, but needed by nothing: {needless}: make locks"
    assert all(pin.hashes for pin in pins.values())


def installed(name: str, pin: locks.Pin, *needs: str) -> dict[str, Any]:
    """An item of pip's report, which took the last of the files that the lock allows."""
    _, _, digest = pin.hashes[-1].partition(":") if pin.hashes else ("", "", "")
    return {
        "download_info": {"archive_info": {"hashes": {"sha256": digest}}} if digest else {},
        "metadata": {"name": name, "version": pin.version, "requires_dist": list(needs)},
    }


def test_the_bill_of_materials_lists_each_pin_and_fits_cyclonedx_schema() -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    spec = importlib.util.spec_from_file_location("sbom", locks.FOLDER / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    pins = locks.pins(locks.FOLDER / "requirements.txt")
    needed = {name: [other for other, pin in pins.items() if name in pin.needed_by] for name in pins}
    ours = installed("rocketns", locks.Pin("1.2"), 'aiohttp>=3; extra == "admin"', 'pyspark; extra == "spark"', "isal")
    text = script.bill([installed(name, pin, *needed[name]) for name, pin in pins.items()], ours)
    bill = json.loads(text)
    listed = {
        one["name"]: (one["version"], [f"sha256:{each['content']}" for each in one["hashes"]])
        for one in bill["components"]
    }
    assert listed == {name: (pin.version, pin.hashes[-1:]) for name, pin in pins.items()}
    graph = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}
    # Of the extras, only what the image has.
    assert graph["pkg:generic/rocketns@1.2"] == [
        f"pkg:pypi/{name}@{pins[name].version}" for name in ("aiohttp", "isal")
    ]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def program(path: Path) -> dict[str, Any]:
    """The names of a program that is no module of a package."""
    return runpy.run_path(str(path))


@pytest.mark.parametrize(
    ("source", "imported", "taken"),
    [("cdef int a", "json", True), ("cdef int b", "json", False), ("cdef int a", "no_such_module", False)],
    ids=["the same sources", "another source", "not for this Python"],
)
def test_make_takes_the_modules_of_a_wheel_of_the_same_sources(
    source: str, imported: str, taken: bool, tmp_path: Path
) -> None:
    (tmp_path / "rocketns").mkdir()
    (tmp_path / "rocketns" / "one.pyx").write_text("cdef int a")
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as archive:
        archive.writestr("rocketns/one.pyx", source)
        archive.writestr("rocketns/one.abi3.so", "compiled")
    names = program(ROOT / "packaging" / "unpacked.py")
    names["unpack"].__globals__.update(ROOT=tmp_path, TRIED=imported)
    assert names["unpack"](tmp_path / "one.whl") is taken
    assert (tmp_path / "rocketns" / "one.abi3.so").exists() is taken


def test_a_build_removes_modules_whose_source_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "rocketns" / "_fast" / "system"
    folder.mkdir(parents=True)
    (folder / "kept.pyx").touch()
    modules = [folder / name for name in ("kept.cpython-311.so", "memory_views.cpython-311.so", "gone.cpython-311.so")]
    for module in modules:
        module.touch()
    names = program(ROOT / "setup.py")
    names["remove_stale"].__globals__["HERE"] = tmp_path
    names["remove_stale"]()
    assert [module.exists() for module in modules] == [True, True, False]
