"""The setups of servers, which scenarios share, and the certificates of the TLS scenarios, made once a run."""

from __future__ import annotations

import datetime
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from interop.parity.language import Setup
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import any_server

DAY = datetime.timedelta(days=1)


@cache
def identity(name: str) -> Identity:
    """The certificate of a name. The authority signs the client's and the expired one; all others are self-signed."""
    if name in ("client", "expired"):
        return identity("authority").issue(name, is_expired=name == "expired")
    return authority(name)


def pem(what: str) -> bytes:
    """``name.crt`` is a certificate, ``name.key`` its key. What follows a "#" is added, where it means nothing."""
    what, _, note = what.partition("#")
    name, _, kind = what.partition(".")
    found = identity(name)
    return (found.certificate_pem() if kind == "crt" else found.key_pem()) + note.encode()


def client_context(name: str, version: str, folder: Path) -> ssl.SSLContext:
    """A peer that trusts everybody, and has the named certificate if one is named. The folder keeps its files."""
    context = any_server(Files.write(folder / name, identity(name)) if name else None)
    if version:
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    return context


def describe(certificate: bytes | None) -> str:
    """What two servers can have in common: names, kind of key and signature, and for how long it is valid."""
    if certificate is None:
        return "none"
    found = x509.load_der_x509_certificate(certificate)
    key = found.public_key()
    kind = f"RSA {key.key_size}" if isinstance(key, rsa.RSAPublicKey) else type(key).__name__
    hashed = found.signature_hash_algorithm.name if found.signature_hash_algorithm else "none"
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    age = (datetime.datetime.now(datetime.UTC) - begin) // DAY
    lasts = f"until {end.date()}" if end.year == datetime.MAXYEAR else f"for {(end - begin) // DAY} days"
    subject, issuer = found.subject.rfc4514_string(), found.issuer.rfc4514_string()
    return f"{subject} by {issuer}, {kind}, {hashed}, from {age} days ago {lasts}"


HOME = "HOME"
PEM = "pem:"

# Scans for overdue brokers come often, so that expiry is quick; one selector thread, so that Java sees closes in order.
QUICK = {"scanNotActiveBrokerInterval": 200, "serverSelectorThreads": 1}


def tls_properties(certificate: str, *, client_auth: str = "none", auth_client: str = "false") -> str:
    """The text of the file that tls.config.file names; ``certificate`` is the name of two files in the folder."""
    lines = {
        "tls.test.mode.enable": "false",
        "tls.server.need.client.auth": client_auth,
        "tls.server.authClient": auth_client,
        "tls.server.certPath": f"HOME/{certificate}.crt",
        "tls.server.keyPath": f"HOME/{certificate}.key",
        "tls.server.trustCertPath": "HOME/trust.crt",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


SETUPS = {
    setup.name: setup
    for setup in (
        # Plays follow each other quickly, and each of some has connections to three listeners.
        Setup("base", QUICK | {"rocketns.outgoingConnectionsPerHostMax": 1000}, long_key=True),
        Setup(
            "enforcing",
            QUICK,
            # The file wins over the system property: without it the certificate would be the test mode's.
            ("-Dtls.server.mode=enforcing", "-Dtls.config.file=HOME/tls.properties", "-Dtls.test.mode.enable=true"),
            files={
                "tls.properties": tls_properties("reloaded"),
                "reloaded.crt": "pem:server-first.crt",
                "reloaded.key": "pem:server-first.key",
                "trust.crt": "pem:authority.crt",
            },
            plain=False,
        ),
        Setup(
            "narrow",
            QUICK
            | {
                "clientRequestThreadPoolNums": 1,
                "clientRequestThreadPoolQueueCapacity": 1,
                "defaultThreadPoolNums": 1,
                "defaultThreadPoolQueueCapacity": 1,
                "unRegisterBrokerQueueCapacity": 1,
            },
            ("-Dtls.server.mode=disabled", "-Dcom.rocketmq.remoting.frameMaxLength=65536"),
            narrow=True,
        ),
        # The folder of the KV file is a file; rocketns' bounds are small.
        Setup(
            "kv-differences",
            QUICK
            | {
                "kvConfigPath": "HOME/blocked/kv.json",
                "rocketns.kvBytesMax": 1500,
                "rocketns.kvValueBytesMax": 1000,
            },
            files={"blocked": "no folder"},
        ),
        Setup(
            "full-tables",
            QUICK | {"rocketns.routesMax": 9, "rocketns.brokerRoutesMax": 3, "rocketns.brokersMax": 2},
        ),
        # rocketns restores its routes. Java does not know these properties.
        Setup("restoring", QUICK | {"journalPath": "HOME/journal", "journalNs": "n1"}),
        # Its last scenario asks both servers to leave.
        Setup("differences", QUICK | {"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": 30}),
        Setup(
            "binary",
            QUICK,
            (
                "-Drocketmq.serialize.type=ROCKETMQ",
                "-Dtls.server.mode=Enforcing",
                "-Dtls.test.mode.enable=false",
                "-Dtls.server.certPath=HOME/missing.crt",
                "-Dtls.server.keyPath=HOME/missing.key",
            ),
            {"ROCKETMQ_SERIALIZE_TYPE": "JSON"},
        ),
        # What Java answers with the libraries of the next release.
        Setup("release-5.5.1", QUICK | {"rocketns.compatibleVersion": "5.5.1"}, release="5.5.1"),
        Setup(
            "cluster-test", QUICK | {"clusterTest": "true"}, env={"ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ"}, plain=False
        ),
        Setup(
            "files",
            {
                "customUnknown": "abc",
                "customEmpty": "",
                "configBlackList": "productEnvName;customUnknown",
                "kvConfigPath": "HOME/kv.json",
            },
            env={"ROCKETMQ_SERIALIZE_TYPE": "  "},
            files={"kv.json": '{"configTable":{"kept":{"k":"v","u":"ü"}},"other":1}'},
        ),
    )
}
