"""What the tests share: raw frames, server processes and RocketMQ's jars. Imports nothing from rocketns."""
