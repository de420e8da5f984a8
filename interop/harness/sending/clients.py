"""The Java clients of ``interop/java``: one printed line an event."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from interop.harness.process import Process
from interop.harness.rocketmq.classes import compiled
from interop.harness.rocketmq.java import CURRENT, Java
from interop.harness.wire import eventually

# Shorter than the default of 20 s, to keep tests quick.
QUICK_REBALANCE = ("-Drocketmq.client.rebalance.waitInterval=1000",)
# The producer prints to which queue each message went, and when; the push consumer keeps the order of each queue.
TELLS_QUEUES, IN_ORDER = ("-Dinterop.tellQueues=true",), ("-Dinterop.ordered=true",)


@dataclass
class JavaClient:
    """A running client and the lines that it prints: a word, then its value."""

    process: Process

    def values(self, word: str) -> list[str]:
        """The values of all complete lines that begin with the word, in the order printed."""
        lines = self.process.text().split("\n")[:-1]
        return [line[len(word) :].strip() for line in lines if line.split(" ", 1)[0] == word]

    def wait_for(self, word: str, count: int = 1, within_s: float = 120.0) -> list[str]:
        """Wait until this many lines of the word were printed; all values."""

        def enough() -> bool:
            assert len(self.values(word)) >= count or self.process.popen.poll() is None, self.process.text()[-4000:]
            return len(self.values(word)) >= count

        try:
            eventually(enough, within_s, every_s=0.1)
        except AssertionError:
            said = f"{len(self.values(word))} of {count} lines {word}; the last of its output:"
            raise AssertionError(f"{said}\n{self.process.text()[-4000:]}") from None
        return self.values(word)

    def wait_for_more(self, word: str, count: int) -> list[str]:
        """Wait until this many further lines of the word were printed; all values."""
        return self.wait_for(word, len(self.values(word)) + count)

    def stop(self) -> int:
        """End it with SIGTERM; then everything that it did is printed."""
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()


def start(home: Path, main: str, arguments: list[str], version: str = CURRENT,
          options: tuple[str, ...] = ()) -> JavaClient:  # fmt: skip
    """Start a class of ``interop/java``."""
    home.mkdir(parents=True, exist_ok=True)
    process = Java(home, version).start(
        main, *arguments, output=f"{main}.log", more_classes=compiled(version), options=QUICK_REBALANCE + options
    )
    return JavaClient(process)


FLOW_TIMEOUT_S = 180.0


def assert_each_arrives_once(producer: JavaClient, consumer: JavaClient, count: int) -> None:
    """Check that the producer stored all messages and the consumer printed each exactly once."""
    expected = Counter(str(n) for n in range(count))
    producer.wait_for("DONE", within_s=FLOW_TIMEOUT_S)
    assert Counter(producer.values("SENT")) == expected, producer.process.text()[-4000:]
    consumer.wait_for("GOT", count, within_s=FLOW_TIMEOUT_S)
    consumer.stop()
    assert Counter(consumer.values("GOT")) == expected, consumer.process.text()[-4000:]


def stop_and_check(producer: JavaClient, consumer: JavaClient) -> None:
    """Stop a producer without an end of its own; check that no send failed and each message arrived exactly once."""
    producer.stop()
    sent = producer.values("SENT")
    assert producer.values("DONE"), "the producer did not end in good order"
    assert not producer.values("FAILED")
    consumer.wait_for("GOT", len(sent))
    consumer.stop()
    assert Counter(consumer.values("GOT")) == Counter(sent)
