"""TLS contexts of reactors and HTTP ports (TlsHelper), connections of HTTP ports. Reactors have `_fast/tls`."""
