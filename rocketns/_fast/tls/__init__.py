"""TLS by the system's OpenSSL, called without the GIL."""
