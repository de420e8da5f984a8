"""What a shadow refuses to start with."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.errors import StartupError
from rocketns.shadow.cli import check_record, check_upstream


def test_a_recording_that_exists_is_not_written_over(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.touch()
    link.symlink_to(tmp_path / "nowhere")
    for path in (there, link):
        with pytest.raises(StartupError, match="is not overwritten"):
            check_record(path)
    check_record(tmp_path / "new")


def test_a_recording_without_a_folder_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="cannot be written"):
        check_record(tmp_path / "no" / "file")


@pytest.mark.parametrize("bind", ["0.0.0.0", "127.0.0.1"])
def test_a_shadow_of_itself_is_refused(bind: str) -> None:
    with pytest.raises(StartupError, match="is the shadow itself"):
        check_upstream(("127.0.0.1", 9876), bind, 9876)


def test_a_name_server_at_another_port_or_address_is_taken() -> None:
    check_upstream(("127.0.0.1", 9877), "0.0.0.0", 9876)
    check_upstream(("192.0.2.1", 9876), "0.0.0.0", 9876)
    check_upstream(("127.0.0.2", 9876), "127.0.0.1", 9876)
