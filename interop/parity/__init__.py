"""rocketns beside the Java NameServer 5.5.0: the same raw frames are sent to both, and all answers are compared.

``language`` says what a scenario is made of and ``scenarios`` holds them as data; ``servers`` starts both servers,
``play`` sends a scenario's frames to both, ``compare`` says what is compared and what is not. ``sequences`` makes
scenarios at random. ``python -m interop.parity`` plays any of them by name or by seed.
"""
