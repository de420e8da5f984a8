"""The Java clients of ``interop/java`` in containers: one printed line an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from interop.docker.containers import Container
from interop.docker.deployments.projects import Project
from interop.harness.wire import eventually

FLOW_WITHIN_S = 240.0


def start(project: Project, image: str, main: str, *arguments: object, options: str = "") -> Container:
    """Start a class in the project's network; ``options`` are the JVM's."""
    mounts = (f"--volume={project.environment['CERTIFICATES']}:/etc/tls:ro",) if options else ()
    return project.run(image, "./run", main, *map(str, arguments), options=(f"--env=JAVA_OPT_EXT={options}", *mounts))


def values(client: Container, word: str) -> list[str]:
    """What its lines that begin with the word say."""
    lines = client.output().splitlines()
    return [line[len(word) :].strip() for line in lines if line.split(" ", 1)[0] == word]


def assert_each_arrives_once(project: Project, image: str, name_servers: str, topic: str, count: int, *,
                             options: str = "", pause_ms: int = 0,
                             meanwhile: Callable[[], object] | None = None) -> None:  # fmt: skip
    """A producer sends the numbers below ``count``, and a consumer prints each exactly once. ``meanwhile`` happens when
    the first message has arrived."""
    expected = Counter(map(str, range(count)))
    producer = start(project, image, "Producer", name_servers, topic, count, pause_ms, options=options)
    consumer = start(project, image, "PushConsumer", name_servers, topic, "readers", options=options)
    try:
        if meanwhile is not None:
            eventually(lambda: values(consumer, "GOT"), FLOW_WITHIN_S, every_s=0.3)
            meanwhile()
        assert producer.wait() == 0, producer.output()[-4000:]
        assert Counter(values(producer, "SENT")) == expected, producer.output()[-4000:]
        eventually(lambda: len(values(consumer, "GOT")) >= count, FLOW_WITHIN_S, every_s=0.3)
        consumer.stop()
        assert Counter(values(consumer, "GOT")) == expected, consumer.output()[-4000:]
    finally:
        producer.remove()
        consumer.remove()
