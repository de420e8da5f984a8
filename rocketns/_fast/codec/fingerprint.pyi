"""What Python callers see of fingerprint.pyx."""

def fingerprint(body: bytes | memoryview) -> int:
    """Equal for bodies that differ only in the digits of topicConfigSerializeWrapper.mappingDataVersion.timestamp.

    A body's fingerprint is the same throughout one process. Other bodies have the same with a probability that
    universal_hash.pxd states, even if they were chosen for that.
    """
