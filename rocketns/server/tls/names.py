"""The names in a peer's certificate, in the form in which an access policy has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

NAMES_MAX = 64  # of a certificate
LIKE_SUBJECT = re.compile(r"\s*[A-Za-z0-9.-]+\s*=")  # CN=…, 2.5.4.3=…; no host, mail address or URI begins like that


def names_in(der: bytes) -> tuple[str, ...]:
    """The names in a certificate. Without one, or if it cannot be read, there are none."""
    from cryptography.x509 import load_der_x509_certificate

    try:
        return names_of(load_der_x509_certificate(der)) if der else ()
    except ValueError:
        return ()


def names_of(certificate: Certificate) -> tuple[str, ...]:
    """The first NAMES_MAX of a certificate's names. One that cannot be read has none: peers make it.

    An alternative name that is written like a subject does not count: authorities may sign either without the other.
    """
    from cryptography import x509

    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        others = [str(getattr(name, "value", name)) for name in alternative]
    except x509.ExtensionNotFound:
        others = []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return ()
    names = (certificate.subject.rfc4514_string(), *(name for name in others if not LIKE_SUBJECT.match(name)))
    return names[:NAMES_MAX]
