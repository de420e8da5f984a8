"""Known attacks on RocketMQ's name server, played to Java's and to rocketns with access control off and on.

``python -m tests.hostile.attacks`` writes what happens into docs/security.md.
"""
