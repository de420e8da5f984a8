"""Properties whose texts have a form: addresses, networks, cipher suites, definitions of the JVM."""
