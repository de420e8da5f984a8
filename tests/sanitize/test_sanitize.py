"""Which reports of a sanitizer count, and what its share has. `python -m tests.sanitize` runs the sanitizers."""

from __future__ import annotations

import re
from pathlib import Path

from tests.sanitize.__main__ import WITH_THREADS
from tests.sanitize.sanitizers import ROOT, faults

FAST = ROOT / "tests" / "fast"


def has_threads(test: Path) -> bool:
    """Of its own, or of a server with reactors."""
    return re.search(r"\b(Thread|ThreadPoolExecutor|LiveServer|TimedServer)\b", test.read_text("utf-8")) is not None


def test_the_share_of_thread_sanitizer_has_every_test_with_threads() -> None:
    wanted = {test for test in FAST.rglob("test_*.py") if has_threads(test)}
    assert wanted
    assert wanted <= {test for place in WITH_THREADS for test in (FAST / place, *(FAST / place).rglob("test_*.py"))}


def test_only_what_others_forget_is_left_out_of_a_report() -> None:
    leak = "Direct leak of 9 byte(s) in 1 object(s) allocated from:\n    #0 0x7 in malloc a.c:69\n    #1 0x7 in f {}:5"
    mine, theirs = (
        leak.format("build/sanitize/cython/rocketns/_fast/routes/routes.c"),
        leak.format("Objects/unicodeobject.c"),
    )
    head = "\n=====\n==7==ERROR: LeakSanitizer: detected memory leaks\n\n"
    assert faults(f"{head}{theirs}\n\n{mine}\n\n{theirs}\n") == [mine]
    assert faults(f"{head}{theirs}\n\nSUMMARY: AddressSanitizer: 9 byte(s) leaked in 1 allocation(s).\n") == []
    assert len(faults("\n=====\n==7==ERROR: AddressSanitizer: heap-buffer-overflow on address\n    #0 0x7\n")) == 1
    assert len(faults("==================\nWARNING: ThreadSanitizer: data race (pid=7)\n==================\n")) == 1
    assert len(faults("a.c:5:7: runtime error: signed integer overflow\n")) == 1
