"""What a name server answers, byte for byte: recorded requests and answers, and how answers are compared with them.

The text files in tests/golden are the script: ``store`` reads and writes them, ``play`` sends their requests to a
running server, ``compare`` names everything in an answer that is not contractual. ``python -m interop.capture`` records
the Java NameServer's answers anew; tests/golden/test_golden.py holds rocketns to them. Of rocketns it imports only how
`rocketns shadow` takes two answers apart to compare them.
"""
