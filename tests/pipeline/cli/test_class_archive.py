"""The archive of Java classes: where it is, that Java uses it, and that everything works without it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rocketns.pipeline.cli import spark as starting
from rocketns.pipeline.cli.arguments import parse
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.cli.class_archive import archive_path, options_to_make, options_to_use
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.storage import session as storage

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="no Java runtime")


def java(*options: str) -> str:
    """Its output. Spark splits the options as a shell does."""
    words = ["java", *shlex.split(" ".join(options)), "-Xlog:class+load:file=/dev/stdout", "-version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    return tmp_path / "a cache" / "rocketns"


@needs_java
def test_java_takes_classes_from_what_it_wrote(cache: Path) -> None:
    archive = archive_path("17")
    cache.mkdir(parents=True)
    assert options_to_use(archive) == ()
    java(*options_to_make(archive))
    assert "shared objects file (top)" in java(*options_to_use(archive))


@needs_java
def test_what_is_no_archive_is_passed_over_in_silence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsa"
    broken.write_bytes(b"x" * 100_000)
    said = java(*options_to_use(broken))
    assert "shared objects file (top)" not in said
    assert "[warning]" not in said


def test_another_java_has_another_archive(cache: Path) -> None:
    assert archive_path("17.0.1").parent == cache
    assert archive_path("17.0.1") != archive_path("17.0.2")


def test_spark_starts_with_the_archive_that_is_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def started(*_: object, java: object, **__: object) -> None:
        asked.append(java)
        raise InterruptedError  # Spark is not needed

    monkeypatch.setattr(starting, "check_java", lambda: "17")
    monkeypatch.setattr(storage, "spark_session", started)
    options = parse(["report", "--out", "o"])
    for is_there in (False, True):
        if is_there:
            cache.mkdir(parents=True)
            archive_path("17").touch()
        with pytest.raises(InterruptedError):
            starting.session(options, Progress(lambda: 0.0))
    assert asked == [(), options_to_use(archive_path("17"))]


def test_spark_submit_has_started_java_too_early(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert main(["prepare"]) == 2
    assert "start it as 'rocketns audit prepare'" in capsys.readouterr().err
