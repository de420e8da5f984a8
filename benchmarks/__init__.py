"""rocketns and the Java NameServer measured side by side: ``python -m benchmarks`` for whole servers over sockets,
``python -m pytest benchmarks`` for the parts of rocketns in one process.
"""
