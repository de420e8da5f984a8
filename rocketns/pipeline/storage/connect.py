"""The session of a Spark Connect server. The audit is then a client without Java, and the server does all the work."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import closing
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

import pyspark
from grpc import ChannelConnectivity  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.storage.events.manifest import new_id
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.session import RUN_SETTINGS

ANSWERS_WITHIN_S = 20.0
# Tries of a request while the server does not answer, with pauses up to this: 24 s. pyspark's own numbers make ten
# minutes, but a server that was started again does not know the session.
TRIES, PAUSE_MS_MAX = 6, 10_000
# Sessions of a client have them too. The other settings of a session with its own Java are those of that process.
SETTINGS = RUN_SETTINGS | {"spark.python.sql.dataFrameDebugging.enabled": "false"}


def connected(remote: str, settings: Mapping[str, str], local: Mapping[str, str]) -> SparkSession:
    """A new session of the server at ``remote`` (sc://HOST:PORT). ``local``: further settings if it uses one machine.
    BadInput if no server answers there, it is older than the client, or takes a setting only when it starts."""
    address = shown(remote)
    _check_it_answers(remote, address)
    try:
        session = SparkSession.builder.remote(remote).create()
        version = session.version
    except PySparkException as error:
        raise BadInput(f"{address} gave no session: {first_line(error)}") from error
    check_version(address, version, pyspark.__version__)
    warnings.filterwarnings("ignore", message="WARN WindowExpression")  # sums over a whole small table
    session.client.set_retry_policies([DefaultPolicy(max_retries=TRIES, max_backoff=PAUSE_MS_MAX)])
    for name, value in SETTINGS.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    is_local = str(session.conf.get("spark.master", "")).startswith("local")
    for name, value in ({**local, **settings} if is_local else settings).items():
        _set(session, name, value)
    return session


def shown(remote: str) -> str:
    """The address without its parameters, which may have a token."""
    return f"sc://{urlsplit(remote).netloc.partition(';')[0]}"


def check_version(address: str, server: str, client: str) -> None:
    """BadInput if the server is older than the client, which would ask for what it does not know, or has another
    major version. Of a version the first two numbers count."""
    theirs, ours = ([int(part) for part in version.split(".")[:2]] for version in (server, client))
    if theirs[0] != ours[0] or theirs < ours:
        raise BadInput(
            f"{address} has Spark {server}, and the pyspark here is {client}. The server must have the same version, "
            f"or a newer one below {ours[0] + 1}. Install its version here: pip install 'pyspark=={server}'"
        )


def check_shared(spark: SparkSession, out: str) -> None:
    """BadInput if the server does not see what this machine writes to the folder."""
    folder = Folder(spark, out)
    name = f"shared-{new_id()}"
    folder.write(name, b"rocketns\n")
    try:
        _check_sees(spark, out, folder.path(name))
    finally:
        folder.delete(name)


def check_seen(spark: SparkSession, root: str) -> None:
    """BadInput if the server does not see the files that this machine sees in the folder."""
    folder = Folder(spark, root)
    found = next(folder.files(), None) if folder.local() else None
    if found is not None:
        _check_sees(spark, root, found[0])


def _check_sees(spark: SparkSession, folder: str, path: str) -> None:
    try:
        spark.read.text(path).isEmpty()
    except PySparkException as error:
        raise BadInput(
            f"the Spark Connect server does not see the files that are in {folder} here: {first_line(error)} Name a "
            "folder that both share under the same path, or one in S3."
        ) from error


def first_line(error: BaseException) -> str:
    """What an error says, without Java's stack."""
    return str(error).strip().partition("\n")[0]


def _check_it_answers(remote: str, address: str) -> None:
    """Before the first request, which would be repeated for minutes."""
    try:
        channel = DefaultChannelBuilder(remote).toChannel()
    except PySparkException as error:
        raise BadInput(f"--remote {address}: {first_line(error)}") from error
    states: SimpleQueue[ChannelConnectivity] = SimpleQueue()
    state = ChannelConnectivity.IDLE
    with closing(channel):
        channel.subscribe(states.put, try_to_connect=True)
        while state in (ChannelConnectivity.IDLE, ChannelConnectivity.CONNECTING):
            try:
                state = states.get(timeout=ANSWERS_WITHIN_S)
            except Empty:
                break
    if state is not ChannelConnectivity.READY:
        raise BadInput(
            f"no Spark Connect server answers at {address}. Spark's sbin/start-connect-server.sh starts one; its usual "
            "port is 15002."
        )


def _set(session: SparkSession, name: str, value: str) -> None:
    if not session.conf.isModifiable(name):
        raise BadInput(
            f"--conf {name}: a client of Spark Connect cannot set it. Set it where the server is started, or leave it "
            "out."
        )
    session.conf.set(name, value)
