"""The image beside Java's: users, folders, options of the JVM, health."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from interop.docker.containers import Container, assert_registers_and_finds
from interop.docker.engine import Engine
from interop.docker.images import Images
from interop.harness.wire import eventually
from tests.behaviour import calls

HEALTHY_WITHIN_S = 120.0


def test_user_and_folders_are_those_of_rocketmqs_image(start: Callable[..., Container]) -> None:
    container = start()
    script = (
        "id -u; id -g; echo $HOME; pwd; echo $ROCKETMQ_HOME; echo $ROCKETMQ_VERSION; touch ~/logs/x && echo written"
    )
    home = "/home/rocketmq"
    assert container.execute("sh", "-c", script).split() == [
        *("3000", "3000", home, f"{home}/rocketmq-5.5.0/bin", f"{home}/rocketmq-5.5.0", "5.5.0", "written")
    ]


def test_any_user_may_run_it(start: Callable[..., Container]) -> None:
    """An arbitrary one, as of OpenShift."""
    container = start(options=("--user=1000650000:0",))
    assert_registers_and_finds(container)
    with container.connect() as client:
        calls.put_kv(client, "N", "key", "kept")  # answered with success once it is on disk


def test_options_of_the_jvm_are_ignored_except_system_properties(start: Callable[..., Container]) -> None:
    options = (
        "--env=JAVA_OPT=-server -Xms4g -Xmx4g -XX:+UseG1GC -Drocketmq.serialize.type=ROCKETMQ",
        "--env=JAVA_OPT_EXT=-Xmn1g -XX:MaxDirectMemorySize=1g -Duser.home=/tmp",
        *("--env=HEAP_OPTS=-Xms1g", "--env=JAVA_HEAP_SIZE=1g", "--env=MAX_HEAP_SIZE=1g"),
    )
    container = start("sh", "mqnamesrv", options=options)
    container.wait_for_output("serializeType=ROCKETMQ")
    with container.connect() as client:
        assert calls.settings(client)["kvConfigPath"] == "/tmp/namesrv/kvConfig.json"
    assert container.stop() == 0, "SIGTERM reaches the name server, so that Docker need not kill it"


def test_a_new_volume_can_hold_the_journals_of_collect(
    start: Callable[..., Container], engine: Engine, built: Images
) -> None:
    """By the image's own user and by any other one."""
    server = start()
    collect = "rocketns collect --name-servers=127.0.0.1:9876 --journal=/journal --for=5s >&2"
    for options in ([], ["--user=12345:23456"]):
        volume = engine.docker("volume", "create").strip()
        mounted = (f"--network=container:{server.id}", f"--volume={volume}:/journal", *options)
        command = ("sh", "-c", f"{collect} && find /journal -name '*.jsonl'")
        try:
            assert engine.docker("run", "--rm", *mounted, built.rocketns, *command).strip()
        finally:
            engine.docker("volume", "rm", "--force", volume)


def test_logs_folder_that_may_not_be_written_is_no_obstacle(start: Callable[..., Container], tmp_path: Path) -> None:
    """Docker makes an absent folder of the host for root."""
    tmp_path.chmod(0o755)
    container = start("sh", "mqnamesrv", options=(f"--volume={tmp_path}:/home/rocketmq/logs",))
    container.wait_for_output("may not write to the mounted folder /home/rocketmq/logs")
    container.wait_for_output("listenPort=9876")


def test_health(start: Callable[..., Container]) -> None:
    """Healthy while it answers; unhealthy when it is stopped in the middle."""
    container = start("sh", "mqnamesrv", options=("--health-interval=1s", "--health-retries=1", "--health-timeout=3s"))
    eventually(lambda: container.state()["Health"]["Status"] == "healthy", HEALTHY_WITHIN_S, every_s=0.2)
    container.send(signal.SIGSTOP)
    eventually(lambda: container.state()["Health"]["Status"] == "unhealthy", HEALTHY_WITHIN_S, every_s=0.2)
