"""When the TLS context is made, and which changes of which files replace it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rocketns._fast.tls.openssl import ServerContext
from rocketns.config.tls import TlsConfig
from rocketns.errors import StartupError
from rocketns.server.tls import contexts as tls_contexts
from rocketns.server.tls.contexts import CertificatePair, TlsContexts
from tests.server.tls_configs import config, context_of, files_config
from tests.support.certificates import Files, Identity, authority


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture
def files(ours: Identity, tmp_path: Path) -> Files:
    (tmp_path / "trust.pem").write_bytes(ours.certificate_pem())
    return Files.write(tmp_path, ours.issue("server"))


class Watched(TlsContexts):
    """Keeps the context that it gave to the reactors last."""

    def __init__(self, read_config: Callable[[], TlsConfig]) -> None:
        self.given: ServerContext | None = None
        super().__init__(read_config, use=self._keep)

    def _keep(self, made: ServerContext | None) -> None:
        self.given = made


async def current(contexts: Watched) -> ServerContext | None:
    """The context that a new connection gets, after every context under construction is finished."""
    while contexts._tasks:
        await asyncio.gather(*contexts._tasks)
    ready: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    contexts.when_ready(ready.set_result)
    await ready
    return contexts.given


def read(files: Files) -> Callable[[], TlsConfig]:
    """Reads properties that name all three files."""
    more = {"need.client.auth": "optional", "authClient": "true", "trustCertPath": str(files.folder / "trust.pem")}
    return lambda: files_config(files, **more)


async def watching(files: Files) -> tuple[Watched, ServerContext]:
    """Contexts that have been started, and the first one."""
    contexts = Watched(read(files))
    await contexts.start()
    first = await current(contexts)
    assert first is not None
    return contexts, first


async def after_looking(contexts: Watched) -> ServerContext | None:
    contexts.check_files()
    return await current(contexts)


def append(path: Path) -> None:
    """Change a file's bytes without changing their meaning."""
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize("order", [("certificate", "key"), ("key", "certificate")])
async def test_both_must_change(files: Files, order: tuple[str, str]) -> None:
    """B070, B071: in either order, with looks in between."""
    contexts, before = await watching(files)
    for _ in range(2):
        append(getattr(files, order[0]))
        assert await after_looking(contexts) is before
        assert await after_looking(contexts) is before
        append(getattr(files, order[1]))
        after = await after_looking(contexts)
        assert after not in (before, None)
        before = after


async def test_the_trust_file_alone(files: Files) -> None:
    """B072: a change of the trust file alone is enough. It does not count as a change of certificate or key."""
    contexts, first = await watching(files)
    append(files.folder / "trust.pem")
    second = await after_looking(contexts)
    assert second not in (first, None)
    append(files.key)
    assert await after_looking(contexts) is second


async def test_a_deleted_file(files: Files) -> None:
    """B071: deletion is not a change; a file that returns with other bytes is one."""
    contexts, first = await watching(files)
    saved = files.certificate.read_bytes()
    files.certificate.unlink()
    files.key.write_bytes(files.key.read_bytes() + b"\n")
    assert await after_looking(contexts) is first
    files.certificate.write_bytes(saved)
    assert await after_looking(contexts) is first
    append(files.certificate)
    assert await after_looking(contexts) not in (first, None)


async def test_a_file_seen_half_written(files: Files, ours: Identity) -> None:
    """B071: the context in use stays, and the rest of the file is enough to replace it."""
    contexts, first = await watching(files)
    new = ours.issue("new")
    files.key.write_bytes(new.key_pem())
    files.certificate.write_bytes(new.certificate_pem()[:100])
    assert await after_looking(contexts) is first
    files.certificate.write_bytes(new.certificate_pem())
    assert await after_looking(contexts) not in (first, None)


async def test_test_mode_makes_one_context_when_it_is_first_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """B064: one certificate for any number of connections at the same time. A server without TLS peers makes none."""
    made: list[ServerContext] = []
    build = tls_contexts.build_server_context

    def count(config: TlsConfig, pair: CertificatePair) -> ServerContext:
        made.append(build(config, pair))
        return made[-1]

    monkeypatch.setattr(tls_contexts, "build_server_context", count)

    contexts, called = Watched(config), list[object]()
    await contexts.start()
    assert made == []
    for _ in range(20):
        contexts.when_ready(called.append)
    assert await current(contexts) is made[0]
    assert (len(made), len(called)) == (1, 20)


async def test_a_reread_takes_what_the_files_hold_though_only_one_has_changed(files: Files) -> None:
    """SIGHUP: Java waits for the key too, which stays where a certificate is only renewed."""
    contexts, before = await watching(files)
    append(files.certificate)
    assert await after_looking(contexts) is before
    contexts.reread()
    assert await current(contexts) not in (before, None)
    renewed = await current(contexts)
    files.key.write_bytes(b"no key")
    contexts.reread()
    assert await current(contexts) is renewed


@pytest.mark.parametrize("mode", ["disabled", "permissive"])
async def test_a_port_that_takes_tls_alone_needs_usable_files(files: Files, mode: str) -> None:
    """Java's own port goes on without TLS where a file is missing."""
    files.key.unlink()

    def read_config() -> TlsConfig:
        return files_config(files, {"tls.server.mode": mode})

    await Watched(read_config).start()
    with pytest.raises(StartupError, match=r"TLS cannot be set up: .*key\.pem cannot be read"):
        await TlsContexts(read_config, for_ports=True).start()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"authClient": "true"}, True),
        ({"authClient": "false"}, False),
        ({"authClient": "true", "trustCertPath": ""}, False),
    ],
)
def test_peers_are_verified_by_authorities_of_the_operator_alone(
    files: Files, more: dict[str, str], expected: bool
) -> None:
    """A domain of one's own is enough for a certificate of an authority that the system trusts."""
    given = {"need.client.auth": "optional", "trustCertPath": str(files.folder / "trust.pem")} | more

    assert context_of(files_config(files, **given)).verifies_peers is expected
