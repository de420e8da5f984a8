"""TLS: modes, files and their replacement, protocols and ciphers, certificates of clients."""
