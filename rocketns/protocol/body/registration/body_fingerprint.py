"""By what a repeated body of a registration is recognised, and its CRC without a second look at the whole body."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from isal import isal_zlib

from rocketns._fast.codec.fingerprint import fingerprint, stamp_bounds


@dataclass(slots=True, frozen=True)
class BodyFingerprint:
    """Equal for registrations whose bodies are decoded alike.

    ``keyed_hash`` (64 bits) costs a tenth of a digest. It leaves out ``stamp``, the time at which a 5.x broker wrote
    the body: that differs each time, and no decoder reads it (see fingerprint.pyx). ``crc32`` is UtilAll.crc32 of the
    whole body, of which the top bit is cut off. None if it was not needed.
    """

    length: int
    keyed_hash: int
    compressed: bool
    version: int
    stamp: bytes = field(compare=False)
    bytes_after_stamp: int = field(compare=False)
    crc32: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, body: bytes | memoryview, *, compressed: bool, version: int) -> BodyFingerprint:
        """Without a CRC."""
        start, end = stamp_bounds(body)
        return cls(len(body), fingerprint(body), compressed, version, bytes(body[start:end]), len(body) - end)

    def with_crc32(self, body: bytes | memoryview, known: object) -> BodyFingerprint:
        """A copy with the CRC of ``body``. It is derived from the CRC of ``known`` if that is an equal fingerprint."""
        crc32 = self._derived(known) if isinstance(known, BodyFingerprint) and known == self else None
        return replace(self, crc32=(isal_zlib.crc32(body) if crc32 is None else crc32) & 0x7FFFFFFF)

    def _derived(self, known: BodyFingerprint) -> int | None:
        """CRCs of equally long texts are linear, so the difference of the stamps gives that of the bodies."""
        if known.crc32 is None:
            return None
        difference = isal_zlib.crc32(known.stamp) ^ isal_zlib.crc32(self.stamp)
        return known.crc32 ^ isal_zlib.crc32_combine(difference, 0, self.bytes_after_stamp)
