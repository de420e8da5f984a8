"""What a name server answers, byte for byte: scripted requests, the recorded answers, and how the two are compared.

``scenarios`` is the script, ``play`` sends it to a running server, ``store`` keeps requests and answers as text files,
``compare`` names everything in an answer that is not contractual. ``python -m interop.capture`` records the Java
NameServer; tests/golden/test_golden.py holds rocketns to the record. Imports nothing from rocketns.
"""
