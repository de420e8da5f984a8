"""What ``--record`` writes. A file that cannot be written ends the recording, and nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import NOTICE, Pair
from rocketns.shadow.recording.file import Recorder

log = logging.getLogger("rocketns.shadow")

# A judge that was started again does not write over what the one before it wrote.
FILES_MAX = 100


class Tape:
    """Without a path it does nothing."""

    def __init__(self, path: Path | None, *, hash_names: bool = False) -> None:
        self._recorder = None if path is None else _opened(path, hash_names)

    def take(self, pair: Pair, outcome: Outcome | None) -> None:
        """Write a pair. ``outcome`` is None where it is asked again."""
        if self._recorder is None or pair.connection == NOTICE:
            return
        try:
            self._recorder.record(pair, outcome)
        except OSError as error:
            log.error("the recording ends: %s", error)
            self._recorder = None

    def flush(self) -> None:
        """Nothing that was written is lost if this process is killed."""
        try:
            if self._recorder is not None:
                self._recorder.flush()
        except OSError as error:
            log.error("the recording ends: %s", error)
            self._recorder = None

    def close(self) -> None:
        """Write what is left, and say what was left out."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            recorder.close()
        except OSError as error:
            log.error("the end of the recording is lost: %s", error)
        log.info("recorded %d pairs; %d found no room, and %d cannot be read", recorder.recorded,
                 recorder.without_room, recorder.unreadable)  # fmt: skip


def _opened(path: Path, hash_names: bool) -> Recorder | None:
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(2, FILES_MAX))]
    for name in names:
        try:
            return Recorder(name, hash_names=hash_names)
        except FileExistsError:
            continue
        except OSError as error:
            log.error("nothing is recorded: %s", error)
            return None
    log.error("nothing is recorded: %s and %d files like it exist", path, FILES_MAX)
    return None
