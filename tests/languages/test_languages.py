"""Which language programs speak, and that their help and errors are in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocketns.languages.choice import CHINESE, ENGLISH, of_environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, CHINESE),
        ({"LANG": "zh_TW.UTF-8"}, CHINESE),
        ({"LANG": "de_DE.UTF-8"}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ENGLISH),
        ({"LANG": "C", "LC_MESSAGES": "zh_CN"}, CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, CHINESE),
    ],
)
def test_the_first_variable_that_is_set_names_the_language(environment: dict[str, str], language: str) -> None:
    assert of_environment(environment) == language


@pytest.fixture(scope="module", autouse=True)
def catalogues() -> None:
    """As each build makes them."""
    folder = ROOT / "rocketns" / "languages" / "locale"
    subprocess.run([sys.executable, ROOT / "packaging" / "catalogues.py", folder], check=True)


def said(*words: str, lang: str = "C") -> tuple[int, str]:
    """The exit status of `rocketns WORDS`, and what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "rocketns", *words],
        env={**os.environ, "LC_ALL": lang, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    return ran.returncode, (ran.stdout + ran.stderr).decode()


@pytest.mark.parametrize("command", [(), ("get", "route"), ("collect",), ("shadow",), ("switch",), ("replay",)])
def test_help_is_chinese_by_the_option_and_by_the_environment(command: tuple[str, ...]) -> None:
    _, by_option = said(*command, "--language=zh", "--help")
    _, by_environment = said(*command, "--help", lang="zh_CN.UTF-8")
    assert "用法：" in by_option
    assert by_option == by_environment


def test_the_option_is_worth_more_than_the_environment() -> None:
    assert "usage:" in said("get", "--language", "en", "--help", lang="zh_CN.UTF-8")[1]


def test_a_language_without_a_catalogue_is_refused_by_name() -> None:
    status, text = said("get", "brokers", "--language", "fr")
    assert status == 2
    assert "'fr'" in text


def test_an_error_of_the_options_is_chinese_too() -> None:
    assert "无法识别的参数" in said("get", "brokers", "--wrong", lang="zh_CN.UTF-8")[1]
