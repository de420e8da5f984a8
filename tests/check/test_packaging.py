"""The files in packaging/systemd: systemd accepts them, and they fit the server that they start."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rocketns import cli
from rocketns.config import Configuration
from rocketns.config.limits import Limits
from rocketns.server.listening import SPARE_DESCRIPTORS
from tests.check.source import ROOT
from tests.hostile.confined import profiles

UNITS = ROOT / "packaging" / "systemd"
ANALYZE = shutil.which("systemd-analyze")
# systemd's exposure score of a service, 0 to 10, in tenths: lower is safer. Most services of a system have 90.
EXPOSURE_MAX = 12
installed = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / name)
    return parser


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with a program that exists on this machine."""
    for source in UNITS.glob("rocketns.s*"):
        text = source.read_text("utf-8").replace("/opt/rocketns/bin/rocketns", "/bin/true")
        (tmp_path / source.name).write_text(text, "utf-8")
    return tmp_path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(ANALYZE), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@installed
def test_systemd_accepts_the_units(units: Path) -> None:
    result = analyze("verify", str(units / "rocketns.service"), str(units / "rocketns.socket"))
    assert (result.returncode, result.stdout) == (0, "")


@installed
def test_systemd_names_a_planted_mistake(units: Path) -> None:
    service = units / "rocketns.service"
    service.write_text(service.read_text("utf-8").replace("WatchdogSec=", "WatchdogSecs="), "utf-8")
    assert "WatchdogSecs" in analyze("verify", str(service)).stdout


@installed
def test_the_service_may_do_little_beyond_its_task(units: Path) -> None:
    service = str(units / "rocketns.service")
    result = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", service)
    assert result.returncode == 0, result.stdout


def test_secrets_reach_neither_a_core_file_nor_swap_nor_other_users() -> None:
    service = unit("rocketns.service")["Service"]
    assert [service[name] for name in ("LimitCORE", "MemorySwapMax", "UMask")] == ["0", "0", "0077"]


@installed
def test_the_unit_allows_less_than_a_usual_service() -> None:
    allowed = profiles.allowed_by_the_unit()
    usual = profiles.members("@system-service")
    assert allowed < usual
    assert not allowed & {"fork", "vfork", "setns", "unshare", "chown", "setuid", "mlock", "io_uring_setup", "ptrace"}


def test_the_image_denies_by_default() -> None:
    image = profiles.of_the_image()
    assert (image["defaultAction"], image["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 1)
    names = {name for rule in image["syscalls"] for name in rule["names"]}
    assert not names & {"setns", "unshare", "chown", "setuid", "mlock", "io_uring_setup", "ptrace", "mount", "bpf"}


def test_the_command_is_one_that_the_program_takes() -> None:
    _, *arguments = unit("rocketns.service")["Service"]["ExecStart"].split()
    options = cli.parse(arguments)
    assert options.config_file == "/etc/rocketns/namesrv.properties"
    assert options.system == {"user.home": "/var/lib/rocketns"}


def test_the_properties_are_known_and_take_effect(tmp_path: Path) -> None:
    configuration = Configuration.build(str(UNITS / "namesrv.properties"), home=tmp_path)
    assert configuration.passed_over() == []
    assert configuration.journal.journal_path == "/var/lib/rocketns/journal"


def test_there_are_as_many_descriptors_as_connections_need() -> None:
    files = int(unit("rocketns.service")["Service"]["LimitNOFILE"])
    limits = Limits()
    assert files >= limits.connections_max + limits.outgoing_connections_max + SPARE_DESCRIPTORS


def test_the_socket_is_one_address_for_one_process() -> None:
    """Java listens on the same port."""
    text = (UNITS / "rocketns.socket").read_text("utf-8")
    assert re.findall(r"^ListenStream=(.*)$", text, re.M) == ["0.0.0.0:9876"]
    assert unit("rocketns.socket")["Socket"]["Accept"] == "no"
