"""What Python callers see of fingerprint.pyx."""

def fingerprint(body: bytes | memoryview) -> int:
    """Equal for bodies that are equal but for the digits of topicConfigSerializeWrapper.mappingDataVersion.timestamp.

    It is constant within one process. Who does not know its key cannot make different bodies equal.
    """
