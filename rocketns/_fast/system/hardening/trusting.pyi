"""What Python callers see of trusting.pyx."""

def trusting_callback() -> int:
    """The address of a C function ``int (int, X509_STORE_CTX *)`` that says yes to every certificate of a chain.

    pyOpenSSL makes the callback of a Python function when it is set, as machine code in memory that can be written and
    executed. A system that forbids such memory (systemd's MemoryDenyWriteExecute=, SELinux) would refuse TLS with it.
    """
