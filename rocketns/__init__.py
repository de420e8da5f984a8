"""rocketns: a name server for Apache RocketMQ that brokers, clients and admin tools cannot tell from the Java one."""

__version__ = "0.2.0"
