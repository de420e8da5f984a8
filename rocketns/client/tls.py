"""TLS of the connections that are opened, from the standard library (tls.enable)."""

from __future__ import annotations

import ssl

from rocketns.config.tls import Suites, TlsConfig, TlsSide, chosen_suites

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def client_context(config: TlsConfig) -> ssl.SSLContext:
    """TlsHelper.buildSslContext(true). OSError (ssl.SSLError is one), ValueError or TlsError if that fails."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # as Java's client: the certificate's names are not compared
    context.verify_mode = ssl.CERT_NONE
    if not config.test_mode:
        _use_files(context, config.client)
    restrict(context, chosen_suites(config.protocols, config.ciphers))
    return context


def _use_files(context: ssl.SSLContext, side: TlsSide) -> None:
    if side.verify_peer:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(side.trust_cert_path) if side.trust_cert_path else context.load_default_certs()
    if side.cert_path:
        # Called only if the key needs a password. Without the function OpenSSL would ask on the terminal.
        context.load_cert_chain(side.cert_path, side.key_path or None, lambda: side.key_password)


def restrict(context: ssl.SSLContext, suites: Suites) -> None:
    """Offer these versions and suites only.

    The standard library cannot choose among the suites of TLS 1.3: it offers all of them, or none.
    """
    context.minimum_version = _VERSIONS[suites.protocols[0]]
    context.maximum_version = _VERSIONS[suites.protocols[-1]]
    if suites.older:
        context.set_ciphers(":".join(suites.older))
    suites.check_supported([cipher["name"] for cipher in context.get_ciphers()])
