"""Signs requests as mqadmin does (AclClientRPCHook)."""

from __future__ import annotations

from collections.abc import Mapping

from rocketns.access.signing.secret import Secret
from rocketns.access.signing.signature import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, signed_content


class KeySigner:
    """A `rocketns.client.signer.Signer` with one access key. Its ``repr`` does not have the secret."""

    __slots__ = ("_secret", "access_key", "security_token")

    def __init__(self, access_key: str, secret: Secret, security_token: str = "") -> None:
        self.access_key = access_key
        self.security_token = security_token
        self._secret = secret

    def signed(self, fields: Mapping[str, str | None]) -> dict[str, str | None]:
        """The fields of a request without a body, with AccessKey, SecurityToken if there is one, and Signature."""
        whole = dict(fields) | {ACCESS_KEY: self.access_key}
        if self.security_token:
            whole[SECURITY_TOKEN] = self.security_token
        whole[SIGNATURE] = self._secret.signature([signed_content(whole)]).decode()
        return whole
