"""Properties whose texts have a form: addresses, networks, cipher suites."""
