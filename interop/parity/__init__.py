"""rocketns beside the Java NameServer 5.5.0: the same raw frames are sent to both, and all answers are compared.

``language`` says what a scenario is made of and ``scenarios`` holds them as data; ``pair`` starts both servers,
``play`` sends a scenario's frames to both, ``even`` and ``state`` say what is compared and what is not. ``sequences``
makes scenarios at random and shrinks those that fail, ``mutations`` shows that faults are seen, ``differences`` reads
docs/differences.md. ``python -m interop.parity`` plays any of them by name or by seed.
"""
