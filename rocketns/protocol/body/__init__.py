"""The bodies of requests and answers (org.apache.rocketmq.remoting.protocol.body, .route)."""
