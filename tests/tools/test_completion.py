"""The completion scripts that a build makes: shells take them, and they know the commands."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from rocketns.__main__ import main
from rocketns.tools.arguments import SHELLS
from rocketns.tools.main import completion
from tests.check.source import ROOT

FOLDER = ROOT / "rocketns" / "tools" / "completions"


@pytest.fixture(scope="module", autouse=True)
def made() -> None:
    """Those of a build may be older than the parsers."""
    subprocess.run([sys.executable, ROOT / "packaging" / "completions.py", FOLDER], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == (FOLDER / f"rocketns.{shell}").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["di"], {"diff"}),
        (["get", "b"], {"brokers"}),
        (["get", "route", "--js"], {"--json"}),
        (["diff", "--set"], {"--settle"}),
        (["access", "su"], {"suggest"}),
        (["access", "suggest", "--net"], {"--networks"}),
        (["audit", "ru"], {"run"}),
        (["replay", "--as"], {"--as-recorded"}),
        (["sha"], {"shadow"}),
        (["shadow", "--record-"], {"--record-hash-names"}),
        (["sw"], {"switch"}),
        (["switch", "--per"], {"--percent"}),
        (["switch", "s"], {"serve"}),
        (["coll"], {"collect"}),
        (["collect", "--requ"], {"--requests-per-second"}),
        (["--configF"], {"--configFile"}),
    ],
)
def test_bash_completes(words: list[str], expected: set[str]) -> None:
    asked = " ".join(["rocketns", *words])
    commands = f"""{completion("bash")}
COMP_WORDS=({asked}); COMP_CWORD={len(words)}; COMP_LINE="{asked}"; COMP_POINT=${{#COMP_LINE}}
_shtab_rocketns rocketns "{words[-1]}"; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    bash = subprocess.run(["bash", "--norc"], input=commands, capture_output=True, text=True, check=True)
    assert set(bash.stdout.split()) == expected, bash.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_its_script() -> None:
    ended = subprocess.run(["zsh", "-n"], input=completion("zsh"), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
