"""rocketns beside real RocketMQ: brokers, clients, admin tools and the Java NameServer itself."""
