"""The names in a peer's certificate, in the form in which an access policy has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocketns.access.principal import kind_of_name

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

NAMES_MAX = 64  # of a certificate
# What a URI begins with: a scheme that cannot be the beginning of an IPv6 address.
SCHEME = re.compile(r"(?=[^:]*[g-zG-Z])[A-Za-z][A-Za-z0-9+.-]*:")


def names_in(der: bytes) -> tuple[str, ...]:
    """The names in a certificate. Without one, or if it cannot be read, there are none."""
    from cryptography.x509 import load_der_x509_certificate

    try:
        return names_of(load_der_x509_certificate(der)) if der else ()
    except ValueError:
        return ()


def names_of(certificate: Certificate) -> tuple[str, ...]:
    """The first NAMES_MAX of a certificate's names. One that cannot be read has none: peers make it.

    An alternative name that is written like one of another kind does not count: authorities may sign either without the
    other.
    """
    from cryptography import x509

    def of_its_kind(name: object) -> str | None:
        match name:
            case x509.IPAddress():
                return str(name.value)
            case x509.DNSName() if kind_of_name(name.value) == "":
                return name.value
            case x509.RFC822Name() if kind_of_name(name.value) == "@":
                return name.value
            case x509.UniformResourceIdentifier() if SCHEME.match(name.value):
                return name.value
        return None

    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        others = [of_its_kind(name) for name in alternative]
    except x509.ExtensionNotFound:
        others = []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return ()
    names = tuple(name for name in (certificate.subject.rfc4514_string(), *others) if name)
    return names[:NAMES_MAX]
