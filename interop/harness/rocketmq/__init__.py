"""RocketMQ's own programs: their jars, releases, brokers, proxy and mqadmin."""
