"""Starting Spark for a command: what must be installed, and the settings of the command line."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rocketns.errors import install_command
from rocketns.languages import N_
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import Say, _
from rocketns.pipeline.storage.folders import is_on_this_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN = 17
# Spark's default of 200 partitions would make more tasks than most tables of one process have work for. Checksums tell
# whether a part that was lost with its machine is the same when it is computed again.
LOCAL = {"spark.sql.shuffle.orderIndependentChecksum.enabled": "false", "spark.sql.shuffle.partitions": "16"}
# Planning each stage again and inferring filters from others take longer than a stage of few rows. So do many tasks.
SHORT = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.shuffle.partitions": str(min(4, os.cpu_count() or 1)),
}
# For a small batch compiling its plan takes longer, too.
SMALL_BATCHES = SHORT | {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
# So it does for a journal of some minutes.
TINY = SMALL_BATCHES | {"spark.sql.shuffle.partitions": "1"}
TINY_BYTES = 4 << 20
# Journals up to this size cost less CPU without Java's optimising compiler, although the tasks take longer.
SHORT_BYTES = 512 << 20
QUIET = {"spark.log.level": "ERROR"}
# Where Hadoop's configuration or spark-submit may name another file system for paths without one.
PLACES_ELSEWHERE = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT")
MISSING_EXTRA = N_("%(module)s is not installed, and the audit needs it. Install it with: %(command)s")
NEEDED = ("pyspark", "pyarrow", "pandas")
MISSING_JAVA = N_(
    "Spark needs a Java runtime, version %(version)s or newer, and %(found)s. Install one (Debian, Ubuntu: apt-get "
    "install default-jre-headless), or set JAVA_HOME to the one to use."
)


def session(
    options: argparse.Namespace, say: Say, usual: Mapping[str, str] = MappingProxyType({}), short: bool = False
) -> SparkSession:
    """Spark with the settings of the command line, then those of ``usual``. ``short``: the command takes about a
    minute. BadInput if something is not installed."""
    check_installed()
    submitted = is_submitted()
    from rocketns.pipeline.storage.session import spark_session

    say(_("starting Spark"))
    settings = dict(options.conf)
    memory = settings.pop("spark.driver.memory", "2g")
    master = options.master or (None if submitted else "local[*]")
    local = LOCAL if master is not None and master.startswith("local") else {}
    spark = spark_session(master, memory=memory, settings=QUIET | local | dict(usual) | settings, short=short)
    spark.sparkContext.setLogLevel("ERROR")
    say(_("Spark %(version)s on %(master)s") % {"version": spark.version, "master": spark.sparkContext.master})
    return spark


def check_installed() -> None:
    """BadInput if Spark cannot start."""
    check_extra()
    if not is_submitted():
        check_java()


def is_submitted() -> bool:
    """Whether spark-submit's Java process started this one."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def fitting(journal: str) -> tuple[Mapping[str, str], bool]:
    """What ``session`` takes as ``usual`` and ``short``, by the size of a journal on this machine; one elsewhere
    may have any."""
    size = 0
    for path in Path(journal).rglob("*.jsonl"):
        with suppress(FileNotFoundError):  # the name server may delete old files meanwhile
            size += path.stat().st_size
        if size > SHORT_BYTES:
            break
    short = 0 < size <= SHORT_BYTES
    return TINY if 0 < size <= TINY_BYTES else SHORT if short else {}, short


def is_here(options: argparse.Namespace, path: str) -> bool:
    """Whether the folder is on this machine and no setting of Spark or Hadoop may say otherwise."""
    chosen = options.master or options.conf or any(name in os.environ for name in PLACES_ELSEWHERE)
    return not chosen and is_on_this_machine(path)


def check_extra() -> None:
    """BadInput if what the extra spark brings is missing. Nothing is imported: pandas alone takes half a second."""
    for module in NEEDED:
        if find_spec(module) is None:
            raise BadInput(_(MISSING_EXTRA) % {"module": module, "command": install_command("spark")})


def check_java() -> None:
    """BadInput if Spark would find no Java runtime, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except OSError as error:
        where = (
            _("JAVA_HOME is %(home)s, which has none") % {"home": home} if home else _("there is no java on the PATH")
        )
        raise BadInput(_(MISSING_JAVA) % {"version": JAVA_MIN, "found": where}) from error
    match = re.search(r'version "(\d+)', shown)
    if match is None or int(match[1]) < JAVA_MIN:
        first = shown.splitlines()[0] if shown else _("not one")
        found = _("%(java)s is %(version)s") % {"java": java, "version": first}
        raise BadInput(_(MISSING_JAVA) % {"version": JAVA_MIN, "found": found})
