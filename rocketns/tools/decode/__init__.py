"""`rocketns decode`: frames of RocketMQ as a person reads them, from what people paste and from captures."""
