"""Helpers that the tests share: raw frames, server processes, RocketMQ's jars. Imports nothing of rocketns."""
