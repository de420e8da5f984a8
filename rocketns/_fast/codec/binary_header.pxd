"""What compiled callers may use of binary_header.pyx: nothing."""
