"""A folder in S3 without Java, through Arrow's file system: for clients of Spark Connect.

Address and keys come from the environment, as for Amazon's own tools: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL …
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from pyarrow.fs import FileSelector, FileSystem, FileType  # type: ignore[import-untyped]

from rocketns.pipeline.contract.errors import BadInput

S3 = ("s3", "s3a", "s3n")
WILDCARDS = "*?["


class Bucket:
    """Below ``root``, such as s3a://bucket/folder; paths keep its scheme. BadInput for anything that is not in S3."""

    def __init__(self, root: str) -> None:
        self.absolute = root
        self._scheme, _, self._base = root.partition("://")
        if self._scheme not in S3:
            raise BadInput(
                f"{root}: through Spark Connect the audit reads and writes folders that this machine shares with the "
                f"server, and S3 ({'://, '.join(S3)}://). For other file systems use --master or spark-submit."
            )
        self._system = _store(self._base.partition("/")[0])

    def exists(self, name: str) -> bool:
        return bool(self._info(name).type != FileType.NotFound)

    def names(self, name: str) -> list[str]:
        return sorted(found.base_name for found in self._listed(self._at(name)))

    def files(self) -> Iterator[tuple[str, int, int]]:
        try:
            for folder in self._matching():
                for found in self._listed(folder, below=True):
                    if found.type == FileType.File:
                        yield f"{self._scheme}://{found.path}", found.size, found.mtime_ns // 1_000_000
        except OSError as error:
            raise BadInput(f"{self.absolute} cannot be read: {error}") from error

    def read(self, name: str, begin: int = 0, size: int | None = None) -> bytes | None:
        try:
            with self._system.open_input_file(self._at(name)) as file:
                file.seek(begin)
                return bytes(file.read(size))
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        with self._system.open_output_stream(self._at(name)) as stream:
            stream.write(data)

    def publish(self, name: str, data: bytes) -> bool:
        if self.exists(name):
            return False
        self.write(name, data)
        return True

    def delete(self, name: str) -> None:
        found = self._info(name)
        if found.type == FileType.Directory:
            self._system.delete_dir(found.path)
        elif found.type == FileType.File:
            self._system.delete_file(found.path)

    def _matching(self) -> list[str]:
        """The folders that the root names, which may have wildcards."""
        found = [""]
        for part in self._base.split("/"):
            if any(sign in part for sign in WILDCARDS):
                found = [one.path for at in found for one in self._listed(at) if fnmatchcase(one.base_name, part)]
            else:
                found = [f"{at}/{part}".lstrip("/") for at in found]
        return found

    def _listed(self, folder: str, *, below: bool = False) -> Any:
        return self._system.get_file_info(FileSelector(folder, recursive=below, allow_not_found=True))

    def _info(self, name: str) -> Any:
        return self._system.get_file_info(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._base}/{name}" if name else self._base


@cache
def _store(bucket: str) -> Any:
    """S3 as the environment describes it, in the bucket's region."""
    try:
        return FileSystem.from_uri(f"s3://{bucket}")[0]
    except (OSError, ValueError) as error:
        raise BadInput(f"s3://{bucket} cannot be reached from this machine: {error}") from error
