"""The cases of RocketMQ's own tests of RouteInfoManager."""
