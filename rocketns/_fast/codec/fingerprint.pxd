"""Nothing of fingerprint.pyx is for compiled callers: hashing.pxd has it inline."""
