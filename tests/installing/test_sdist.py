"""The sdist has everything that git tracks, and its bytes depend only on that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from email.parser import Parser
from pathlib import Path

from rocketns import __version__
from tests.check.source import ROOT
from tests.installing.building import build, copy_tracked, run, tracked

GENERATED = re.compile(r"PKG-INFO|setup\.cfg|rocketns\.egg-info/.*")
A_DAY_S = 86_400


def test_a_second_build_has_the_same_bytes(sdist: Path, tmp_path: Path) -> None:
    """In another folder, from newer files that only their owner may read."""
    source = copy_tracked(tmp_path / "elsewhere")
    for path in source.rglob("*.py"):
        status = path.stat()
        os.utime(path, (status.st_atime, status.st_mtime + A_DAY_S))
        path.chmod(0o600 | status.st_mode & 0o100)
    again = build("sdist", source, tmp_path / "out")
    assert again.name == sdist.name
    assert again.read_bytes() == sdist.read_bytes()


def test_it_has_what_git_tracks(sdist: Path) -> None:
    assert [name for name in names(sdist) if not GENERATED.fullmatch(name)] == tracked()


def test_nothing_in_it_says_who_built_it_when(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in archive} == {(0, 0, "", "", 315_532_800)}


def test_its_metadata_is_complete(sdist: Path) -> None:
    """What a package index and pip show. twine checks the README too."""
    run(sys.executable, "-m", "twine", "check", "--strict", sdist)
    run(sys.executable, "-m", "validate_pyproject", ROOT / "pyproject.toml")
    with tarfile.open(sdist) as archive:
        file = archive.extractfile(f"rocketns-{__version__}/PKG-INFO")
        assert file is not None
        metadata = Parser().parsestr(file.read().decode())
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata["Requires-Python"] == ">=3.11"
    for name in ("Summary", "Keywords", "Description"):
        assert metadata[name] or metadata.get_payload(), name
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert not re.findall(r"\]\((?!https?:|mailto:)[^)]*\)", str(metadata.get_payload())), (
        "an index follows no relative link"
    )
    said = set(metadata.get_all("Classifier", []))
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)} <= said


def test_a_free_threaded_python_is_refused_with_the_reason(tmp_path: Path) -> None:
    """sysconfig is made to describe such a Python. The build is refused before anything is compiled."""
    setup = (
        "import runpy, sysconfig, sys\n"
        "known = sysconfig.get_config_var\n"
        "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else known(name)\n"
        f"sys.argv = ['setup.py', 'build_ext', '--build-lib', {str(tmp_path)!r}]\n"
        f"runpy.run_path({str(ROOT / 'setup.py')!r}, run_name='__main__')\n"
    )
    result = subprocess.run([sys.executable, "-c", setup], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "error: rocketns does not support free-threaded Python." in result.stderr
    assert list(tmp_path.iterdir()) == []


def names(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        return sorted(member.name.partition("/")[2] for member in archive)
