"""TLS of the connections in and out (TlsHelper, TlsModeHandler)."""
