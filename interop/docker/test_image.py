"""The image beside Java's: users, folders, options of the JVM, size, health."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.docker.containers import Container
from interop.docker.deployments import assert_registers_and_finds
from interop.docker.engine import Engine
from interop.docker.images import Images
from interop.harness import codes
from interop.harness.wire import eventually
from tests.behaviour import calls

OVER_BASE_MAX = 90_000_000
HEALTHY_WITHIN_S = 120.0
# Arbitrary users of Kubernetes and OpenShift, and root.
USERS = {"root": "0:0", "any": "12345:23456", "OpenShift's": "1000650000:0"}


def test_image_is_small(engine: Engine, built: Images) -> None:
    sizes = [int(engine.docker("inspect", "--format", "{{.Size}}", tag)) for tag in (built.rocketns, built.base)]
    over = sizes[0] - sizes[1]
    assert 0 < over < OVER_BASE_MAX


def test_user_and_folders_are_those_of_rocketmqs_image(start: Callable[..., Container]) -> None:
    container = start()
    script = (
        "id -u; id -g; echo $HOME; pwd; echo $ROCKETMQ_HOME; echo $ROCKETMQ_VERSION; touch ~/logs/x && echo written"
    )
    home = "/home/rocketmq"
    assert container.execute("sh", "-c", script).split() == [
        *("3000", "3000", home, f"{home}/rocketmq-5.5.0/bin", f"{home}/rocketmq-5.5.0", "5.5.0", "written")
    ]


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_any_user_may_run_it(user: str, start: Callable[..., Container]) -> None:
    container = start(options=(f"--user={user}",))
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


def test_mounted_logs_folder_gets_the_log(start: Callable[..., Container], tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    container = start("sh", "mqnamesrv", options=(f"--volume={tmp_path}:/home/rocketmq/logs",))
    assert "INFO" not in container.wait_for_output("boot success")
    log = tmp_path / "rocketmqlogs" / "namesrv.log"
    eventually(lambda: log.exists() and "listenPort=9876" in log.read_text("utf-8"))


def test_logs_folder_that_may_not_be_written_is_no_obstacle(start: Callable[..., Container], tmp_path: Path) -> None:
    """Docker makes an absent folder of the host for root."""
    tmp_path.chmod(0o755)
    container = start("sh", "mqnamesrv", options=(f"--volume={tmp_path}:/home/rocketmq/logs",))
    container.wait_for_output("may not write to the mounted folder /home/rocketmq/logs")
    container.wait_for_output("listenPort=9876")


def test_stops_in_good_order(start: Callable[..., Container]) -> None:
    """SIGTERM reaches the name server also through ``sh -c``, so that Docker need not kill it."""
    assert start("sh", "-c", "cd /home/rocketmq/rocketmq-4.9.4/bin && ./mqnamesrv").stop() == 0


def test_mqadmin_says_where_it_is(start: Callable[..., Container]) -> None:
    container = start("sh", "mqadmin", "clusterList", waits=False)
    assert container.wait() == 1
    assert "broker's image" in container.output()


def test_health(start: Callable[..., Container]) -> None:
    """Healthy while it answers; unhealthy when it is stopped in the middle."""
    container = start("sh", "mqnamesrv", options=("--health-interval=1s", "--health-retries=1", "--health-timeout=3s"))
    eventually(lambda: container.state()["Health"]["Status"] == "healthy", HEALTHY_WITHIN_S, every_s=0.2)
    container.send(signal.SIGSTOP)
    eventually(lambda: container.state()["Health"]["Status"] == "unhealthy", HEALTHY_WITHIN_S, every_s=0.2)


def test_request_318_is_answered_where_the_configuration_is_read_only(
    start: Callable[..., Container], tmp_path: Path
) -> None:
    file = tmp_path / "namesrv.p"
    file.write_text("listenPort=9876\n", "utf-8")
    container = start("-c", "/etc/namesrv.p", options=(f"--volume={file}:/etc/namesrv.p:ro",))
    with container.connect() as client:
        answer = calls.update_settings(client, "enableTopicList=false")
        assert answer.code != 0, "what is not on disk is no success: docs/differences.md"
        assert client.request(codes.GET_NAMESRV_CONFIG).code == 0
