"""Runs tests or the fuzzer with the modules of a build folder in place of the developer's.

``python -m tests.sanitize.inside FOLDER pytest ARGUMENT…``, ``… FOLDER fuzz FRAMES SECONDS BODIES_SECONDS SEED`` or ``…
FOLDER plant FAULT``. The last line gives the result, because a sanitizer may change the exit status of the process.
What only one of them needs is imported there: under a sanitizer an import takes several times as long.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import rocketns._fast
import tests.compiled
import tests.sanitize

if TYPE_CHECKING:
    import pytest

ENDED = "ended with status"


def main(folder: Path, what: str, arguments: list[str]) -> int:
    """The exit status of what was run; 1 where a module came from elsewhere."""
    rocketns._fast.__path__[:] = [str(folder / "rocketns" / "_fast")]
    tests.compiled.__path__[:] = [str(folder / "tests" / "compiled")]
    tests.sanitize.__path__.append(str(folder / "tests" / "sanitize"))
    if what == "pytest":
        import pytest

        status = int(pytest.main(arguments, plugins=[FewerExamples()]))
    elif what == "fuzz":
        from tests.sanitize.fuzzing import fuzz  # its modules can be found only now

        status = fuzz(*map(int, arguments))
    else:
        status = plant(arguments[0])
    strange = [name for name, file in _compiled() if folder not in file.parents]
    if strange:
        print(f"not the sanitized modules: {strange}")
    return status or int(bool(strange))


class FewerExamples:
    """A pytest plugin: property tests try a part of their examples. The fuzzer tries millions on the same parsers."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        from hypothesis import settings

        over = int(os.environ.get("ROCKETNS_EXAMPLES_OVER", "1"))
        functions = {getattr(item, "obj", None) for item in items}
        for function in functions:
            given = getattr(function, "_hypothesis_internal_use_settings", None)
            if given is not None:
                function._hypothesis_internal_use_settings = settings(
                    given, max_examples=max(1, given.max_examples // over)
                )


def plant(fault: str) -> int:
    """Commit a fault that a sanitizer must find; 0 if it did not end the process."""
    from tests.sanitize import planted

    if fault == "race":
        # Half a second each: on a busy machine the second thread comes late, and after the first there is no race.
        threads = [threading.Thread(target=planted.race, args=(5_000,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif fault.endswith("_thread"):
        plant_wrong_thread(fault)
    else:
        getattr(planted, fault)({"overrun": 7, "undefined": 2**31 - 1, "leak": 12345}[fault])
    return 0


def plant_wrong_thread(fault: str) -> None:
    """Call on this thread what only another thread of a running server may call."""
    from interop.harness import codes
    from tests.sanitize import planted
    from tests.support.inprocess import TimedServer

    with tempfile.TemporaryDirectory() as home:
        server = TimedServer(Path(home), {"rocketns.reactors": 1})
        reactors = server.reactors
        with server.connect() as client:  # answered, so both threads run and are known
            client.request(codes.GET_BROKER_CLUSTER_INFO)
        reactors.close_idle(0)  # any thread may
        if fault == "reactor_thread":
            planted.work_of_a_reactor(reactors)
        elif fault == "control_thread":
            reactors.deliver(1, None)
        else:
            reactors.slots.put_broker("ba", ())


def _compiled() -> list[tuple[str, Path]]:
    return [
        (name, Path(str(module.__file__)))
        for name, module in sys.modules.items()
        if name.startswith(("rocketns._fast.", "tests.compiled.")) and getattr(module, "__file__", None)
    ]


if __name__ == "__main__":
    status = main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
    print(f"\n{ENDED} {status}", flush=True)
    sys.exit(status)
