"""The command line of `rocketns audit`: arguments and the message for invalid ones, what the collector is asked for,
and `verify`. No Spark."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rocketns.collect.arguments import parse as collector_parse
from rocketns.pipeline.cli.arguments import duration, instant, parse
from rocketns.pipeline.cli.audit import explained, main
from rocketns.pipeline.cli.collecting import collected, journal_of, with_unread
from rocketns.pipeline.cli.spark import check_extra
from rocketns.pipeline.contract.terms import BadInput
from tests.journal.chained import BOOT_MS, Boot, files, journal, unsealed


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:06:40", 400_000_000),
        ("1970-01-01T02:00+02:00", 0),
        ("2026-11-21T14:03Z", 1_795_269_780_000_000),
    ],
)
def test_a_time_is_utc_unless_it_has_a_zone(text: str, us: int) -> None:
    assert instant(text) == us


@pytest.mark.parametrize(("text", "us"), [("5s", 5_000_000), ("250ms", 250_000), ("2", 2_000_000), ("1.5m", 90_000_000),
                                          ("7d", 604_800_000_000), ("1h30m", 5_400_000_000)])  # fmt: skip
def test_a_duration_is_seconds_unless_it_has_a_unit(text: str, us: int) -> None:
    assert duration(text) == us


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "COMMAND"),
        ("run --journal j --out o --from yesterday", "'yesterday' is not a time: write 2026-11-21"),
        ("run --journal j --out o --min-window soon", "'soon' is not a duration: write 5s"),
        ("run --journal j --out o --from 0001-01-01", "write a time after 1970 and before 9987"),
        (f"run --journal j --out o --min-window {'9' * 9}d", "write a duration of at most 36500d"),
        (f"run --journal j --out o --days {'9' * 5000}", "write a number of days from 1 to 36500"),
        ("run --journal j --out=", "the path is empty: name a folder"),
        ("run --journal j --out o --groups 1", "from 2 to 64, such as 2,3,4"),
        ("run --journal j --out o --conf a=b", "write spark.NAME=VALUE"),
    ],
)
def test_an_error_prints_the_usage(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: rocketns audit")
    assert said in shown
    assert "--help' explains every option" in shown


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(BadInput, match="pip install"):
        check_extra()
    assert main(["run", "--journal", "j", "--out", "o"]) == 2
    assert f"Install it with: {sys.executable} -m pip install 'rocketns[spark]'\n" in capsys.readouterr().err


RUN = ("run", "--out", "o")
TWO = ("--name-servers", "a=ns-1:9876,ns-2:9876")


def test_the_collector_takes_the_options_and_a_name_server_that_was_never_read_makes_the_run_incomplete() -> None:
    options, given = parse([*RUN, *TWO, "--for", "90s"]), list[Sequence[str]]()
    assert not collected(options, journal_of(options), lambda _text: None, lambda words: [given.append(words)] and 1)
    settings = collector_parse(given[-1], {})
    assert [ns for ns, _ in settings.name_servers] == ["a", "ns-2-9876"]
    assert (settings.journal, settings.for_s) == ("o/collected", 90)
    assert [with_unread(status) for status in (0, 1, 2, 3, 70)] == [3, 3, 2, 3, 70]


HEAD = re.compile(r"head: (\S+)")
FORGED = b'{"boot":%d,"seq":1,"ts":%d000,"ev":"open","ns":"n1","file":1,"rotate_s":600}\n'


def verify(root: Path, *more: str) -> int:
    return main(["verify", "--journal", str(root), *more])


@pytest.fixture
def head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The head of a journal that goes on afterwards."""
    journal(tmp_path, ("stop",))
    assert verify(tmp_path) == 0
    (printed,) = HEAD.findall(capsys.readouterr().out)
    Boot(tmp_path, BOOT_MS + 3_600_000).put(60).stop()
    return str(printed)


def test_an_earlier_head_is_still_in_its_chain(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path, "--head", head) == verify(tmp_path, "--head", head.rpartition(":")[2]) == 0
    assert "n1: intact." in capsys.readouterr().out


def test_a_changed_line_is_named(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert head
    path = files(tmp_path)[0]
    path.write_bytes(path.read_bytes().replace(b'"val":"3"', b'"val":"4"'))
    assert verify(tmp_path) == 1
    said = capsys.readouterr().out
    assert "n1: BROKEN at 1 places" in said
    assert re.search(rf"{re.escape(str(path))}:\d+: the bytes from line 1, or from a file before, to this seal", said)


def forge(folder: Path, name: str = "") -> Path:
    """A file of another boot, the day before."""
    boot = BOOT_MS - 86_400_000
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{boot}-000001.jsonl")
    path.write_bytes(FORGED % (boot, boot))
    return path


def rewrite_the_oldest(root: Path) -> None:
    """Its boot is renumbered, so that the next file's first seal does not cover it."""
    oldest = files(root)[0]
    unsealed(oldest)
    oldest.write_bytes(
        oldest.read_bytes().replace(b'"val":"3"', b'"val":"4"').replace(b"%d" % BOOT_MS, b"%d" % (BOOT_MS - 1))
    )
    oldest.rename(oldest.with_name(oldest.name.replace(str(BOOT_MS), str(BOOT_MS - 1))))


def give_names_another_boot(root: Path) -> None:
    for path in files(root):
        path.rename(path.with_name(f"{int(path.name.partition('-')[0]) + 1}-{path.name.partition('-')[2]}"))


def rename_the_server(root: Path) -> None:
    for folder in root.glob("v=1/dt=*/ns=n1"):
        folder.rename(folder.with_name("ns=n2"))


def rename_the_day(root: Path) -> None:
    for number, folder in enumerate(root.glob("v=1/dt=*")):
        folder.rename(folder.with_name(f"dt=2020-01-0{number + 1}"))


def put_a_file_before(root: Path) -> None:
    forge(root / "v=1" / "dt=2026-11-20" / "ns=n1")


def put_a_file_before_what_retention_left(root: Path) -> None:
    files(root)[0].unlink()
    put_a_file_before(root)


def put_a_file_of_another_name(root: Path) -> None:
    forge(files(root)[0].parent, "more.jsonl")


def put_a_folder_of_an_escaped_name(root: Path) -> None:
    forge(root / "v=1" / "dt=2026-11-20" / "ns=n%31")


def put_a_journal_deeper(root: Path) -> None:
    """The audit reads it, too."""
    forge(root / "more" / "v=1" / "dt=2026-11-20" / "ns=n1")


ATTACKS = (
    rewrite_the_oldest, give_names_another_boot, rename_the_server, rename_the_day, put_a_file_before,
    put_a_file_before_what_retention_left, put_a_file_of_another_name, put_a_folder_of_an_escaped_name,
    put_a_journal_deeper,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_history_before_a_kept_head_cannot_be_rewritten(
    tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str], attack: Callable[[Path], None]
) -> None:
    attack(tmp_path)
    assert verify(tmp_path, "--head", head) == 1
    assert "BROKEN" in capsys.readouterr().out


def test_a_head_of_another_name_server_is_none_of_this_chain(tmp_path: Path, head: str) -> None:
    assert verify(tmp_path, "--head", head.replace("n1:", "n2:")) == 1


def test_an_error_of_a_python_process_of_sparks_is_shown_without_its_stacks() -> None:
    error = RuntimeError(
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "worker.py", line 4207, in invoke_udf\n    import pyarrow\n'
        "ModuleNotFoundError: No module named 'pyarrow'\n\n\tat org.apache.spark.api.python.PythonRunner\n"
    )
    said = (
        "RuntimeError: An exception was thrown from the Python worker:\nModuleNotFoundError: No module named 'pyarrow'"
    )
    assert explained(error) == said
