"""The table of all checks. Of findings with one weight, those of earlier checks are shown first.

The order is that of the path from a client to a queue: name servers, brokers, topics, groups.
"""

from __future__ import annotations

from rocketns.doctor.checks import address, brokers, fleet, groups, missing, name_servers, registering, topics
from rocketns.doctor.finding import (
    Check,
    answered,
    asked_for_topic,
    routed,
    topics_told,
    with_addresses,
    with_broker,
    with_brokers,
    with_group,
    with_name_server,
    with_topic,
)
from rocketns.doctor.words import N_

CHECKS: tuple[Check, ...] = (
    Check(name_servers.REACHABLE, N_("each name server accepts connections, and answers route lookups"),
          N_("A client asks one name server of its list, and another one only when the connection to that one is gone. "
             "One that cannot be reached costs clients time; if none can, no topic has a route. A name server that has "
             "just started may answer no route lookups at first (needWaitForService)."), name_servers.reachable),
    Check(name_servers.KIND, N_("what answers is a name server; its kind and version"),
          N_("A client's list often names a broker (port 10911) or a proxy (8080, 8081) by mistake. Those do not know "
             "the requests of name servers. Whether it is Java's or rocketns is told by a request that only rocketns "
             "knows."), name_servers.kind, answered),
    Check(name_servers.TLS, N_("name servers and brokers speak TLS, or plain, as the client does"),
          N_("A server with tls.server.mode=enforcing closes plain connections without a word, one with disabled those "
             "with TLS. The client then says that it cannot connect, or that there is no route. The doctor connects as "
             "the client would: plain, or with -Dtls.enable=true by TLS. Where that fails, it tries the other once."),
          name_servers.transport, answered),
    Check(fleet.NO_BROKER, N_("at least one broker is registered"),
          N_("Without a broker no topic has a route. A broker registers at each name server of its own namesrvAddr, "
             "every 30 s. Usual mistakes: it has no namesrvAddr at all (then it registers nowhere, and only its log "
             "says so), it has another one, or a firewall is between them."), fleet.present, with_name_server),
    Check(fleet.TWO_MASTERS, N_("each broker has one master"),
          N_("Two brokers with one brokerName and brokerId=0 replace each other in the tables of a name server at each "
             "registration, so clients go to the one or to the other by turns. A single look shows one of them. "
             "--watch 40 looks again every 3.75 s, for longer than the 30 s between two registrations."),
          fleet.two_masters, with_brokers),
    Check(fleet.TWO_CLUSTERS, N_("no broker name is registered in two clusters"),
          N_("A broker's name is its key in the tables of a name server, whatever its cluster. Two brokers of one name "
             "in two clusters are one broker to clients, and replace each other's address."), fleet.clusters,
          with_brokers),
    Check(fleet.NO_MASTER, N_("each broker has a master"),
          N_("Producers send only to masters. A broker of which only slaves are left has no queue for them; if a topic "
             "is only there, producers say that there is no route. Consumers go on reading from the slaves."),
          fleet.no_master, with_brokers),
    Check(address.ADDRESS, N_("the addresses that brokers announce lead to them"),
          N_("A broker announces brokerIP1 and listenPort, and clients connect to that address, whatever the name "
             "server's own connection to the broker is. Without brokerIP1 a broker takes an address of its machine, "
             "which may be that of a container, of a network that clients do not reach, or loopback. The doctor "
             "connects to each address, asks what answers there (requests 28 and 26), and compares its name. An "
             "address that only times out from here may be well for clients elsewhere: --from-client says that clients "
             "run here."), address.address, with_addresses),
    Check(registering.SIZE, N_("no broker's registration is near the size that a name server reads"),
          N_("A broker sends all its topics in one frame, and a name server reads 16,777,216 bytes of it. A larger one "
             "ends the connection, without a line in the name server's log that says so, and the broker is not "
             "registered. The doctor asks a broker for its topics (request 21) only if some name server does not show "
             "the broker, or if all topics together could be half of the limit."), registering.registration_size,
          with_broker),
    Check(registering.LIST, N_("lists of name servers have the form that RocketMQ reads"),
          N_("RocketMQ splits a list of name servers at semicolons, and takes nothing away: with a comma or a blank in "
             "it two addresses are one, which nothing answers. A list that this doctor was given in one text counts as "
             "that of the clients, and NAMESRV_ADDR does; brokers say theirs (request 26)."), registering.lists,
          registering.has_list),
    Check(registering.ELSEWHERE, N_("each broker registers at every name server that was given"),
          N_("A broker registers at the name servers of its own namesrvAddr (request 26). One that is not in that list "
             "does not know the broker. One that is in it and does not show the broker refuses it, or is not reached."),
          registering.elsewhere, registering.has_configuration),
    Check(missing.MISSING, N_("each topic is on some broker"),
          N_("A name server knows the topics that brokers register. A topic that no name server knows was never "
             "created, was deleted, is on a broker that is not registered here, or has another name: capital letters "
             "count. Names that differ from it in case, in separators, in a namespace or by one or two letters are "
             "looked for among all topics (request 206). A broker with autoCreateTopicEnable=true has the topic "
             "TBW102, and creates a topic that a producer sends to. With false a topic has to be created with mqadmin "
             "or the dashboard. A consumer creates no topic in either case."), missing.missing, asked_for_topic),
    Check(registering.NOT_REGISTERED, N_("each broker that has a topic is in the topic's route"),
          N_("A broker has a topic as soon as it is created (request 351; 21 for brokers before 5.0). Clients find it "
             "there only if the broker's next registration arrives at their name server."),
          registering.unregistered_topic, topics_told),
    Check(missing.ON_SOME, N_("each topic is known at every name server"),
          N_("A broker registers at each name server by itself, and name servers do not tell each other anything. A "
             "client asks only one of them. If that one lacks the topic, the client finds no route, though another "
             "name server has it."), missing.on_some, lambda facts: with_topic(facts) and len(facts.name_servers) > 1),
    Check(topics.STALE, N_("each topic is on the brokers that its route names"),
          N_("A name server keeps a topic of a broker until the broker unregisters, or the topic is deleted at the "
             "name server as well. Where the broker does not have it, clients are refused there. Two masters of one "
             "name look like that, too: the doctor then looks at the name servers again, for up to 40 s."),
          topics.stale, topics_told),
    Check(topics.ORDER, N_("clients can read the order configuration of each topic"),
          N_("A topic may have an order configuration, a KV item of the name server: broker:queues;broker:queues. With "
             "orderMessageEnable=true a route carries it, and clients fail at each lookup of the topic if they cannot "
             "read it. A name server of Java takes any text, rocketns with rocketns.checkOrderConf=true only a valid "
             "one."), topics.order, topics.order_told),
    Check(topics.WIPED, N_("no broker has lost its permission to write"),
          N_("mqadmin wipeWritePerm takes the permission to write from all topics of a broker, in the tables of the "
             "name servers only, for maintenance. It lasts until addWritePerm, or until the broker registers with "
             "changed topics. Producers leave out queues that they may not write; if none is left, they say that there "
             "is no route."), topics.wiped, topics.permissions_told),
    Check(topics.READ_ONLY, N_("each topic can be written and read"),
          N_("A topic has a permission (6 is read and write, 4 only read, 2 only write) and numbers of queues for "
             "reading and writing, on each broker."), topics.read_only, routed),
    Check(name_servers.AGREE, N_("all name servers know the same brokers and topics"),
          N_("Name servers know nothing of each other. If one lacks brokers, those do not have it in their "
             "namesrvAddr, cannot reach it, or started a moment ago: a broker registers again every 30 s."),
          name_servers.agreement, lambda facts: len(facts.readable) > 1),
    Check(fleet.MOVES, N_("each broker id has one address, and each address one id"),
          N_("Two slaves with one id replace each other in the tables of a name server. An address in two places is a "
             "broker that was renamed, or two brokers that announce the same address."), fleet.moves, with_brokers),
    Check(topics.FEW, N_("topics are on all brokers of their cluster"),
          N_("A topic that the first message created is only on the brokers that got messages before the route was "
             "known everywhere, with 4 queues as a rule. It works, but other brokers do not share its load."),
          topics.few, routed),
    Check(groups.GROUP, N_("each consumer group exists, has consumers, may consume, and gets on"),
          N_("A consumer group is created at each broker when its first consumer connects, unless the broker has "
             "autoCreateSubscriptionGroup=false. Its consumers connect to all brokers of their topics, and their "
             "offsets move while messages wait. The doctor asks brokers for the group (request 352 where that cannot "
             "create it, otherwise 201), its consumers (203) and its offsets (208; twice where messages wait)."),
          groups.group, with_group),
    Check(brokers.CLOCKS, N_("the clocks of the brokers agree"),
          N_("A broker says when it started, and for how many seconds it has run (request 28): so its clock is known "
             "to about a second. Delayed messages, times of messages, and consuming from a time on, depend on it."),
          brokers.clocks, lambda facts: any(one.clock is not None for one in facts.brokers)),
    Check(brokers.VERSION, N_("no broker is older than the client needs"),
          N_("With --client-version: what clients of that version can do, and brokers of older versions cannot."),
          brokers.version, brokers.is_told),
)  # fmt: skip
BY_NAME = {check.name: check for check in CHECKS}
