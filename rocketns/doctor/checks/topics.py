"""What is wrong with topics that have a route: their brokers, order configuration, permissions and queues."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.brokers import seen
from rocketns.doctor.checks.showing import addresses_of, listed, mqadmin, weight_of_brokers
from rocketns.doctor.facts import BrokerFacts, FleetFacts, NameServerFacts
from rocketns.doctor.finding import Diagnosis, Weight
from rocketns.doctor.words import _
from rocketns.protocol.body.route import QueueData, order_conf_mistake
from rocketns.protocol.codes import PERM_READ, PERM_WRITE, RequestCode, ResponseCode
from rocketns.protocol.names import CREATION_TOPIC, SELF_TEST_TOPIC

CAUSES = ("two-masters", "broker-address", "broker-in-two-clusters")


def stale(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic and master. deleteTopic deletes the topic at all brokers of the cluster, with its
    messages."""
    for topic, broker in facts.unknown_at():
        having = [one for one in facts.readable if broker.name in one.queues(topic)]
        words = {"topic": topic, "broker": broker.name, "addr": broker.addr, "at": addresses_of(having)}
        sentence = _("Name servers route the topic %(topic)s to the broker %(broker)s, and the broker at %(addr)s does "
                     "not have it: it was deleted there, the broker lost its store, or another broker has the same "
                     "name.") % words  # fmt: skip
        evidence = (
            _("%(at)s has %(broker)s in the route of %(topic)s (request 105)") % words,
            _("%(broker)s at %(addr)s does not have %(topic)s (request 351)") % words,
        )
        is_only = set(facts.queues(topic)) == {broker.name}
        commands = [mqadmin(facts, "updateTopic", "-b", broker.addr, "-t", topic)]
        if is_only and len(seen(facts)[broker.name, broker.broker_id]) == 1:
            commands += [_("# or, if it was deleted on purpose, also at the name servers:"),
                         mqadmin(facts, "deleteTopic", "-c", broker.cluster, "-t", topic)]  # fmt: skip
        else:
            commands.append(_("# or, if it was deleted on purpose: do not use deleteTopic, which deletes it on the "
                              "other brokers as well, with its messages"))  # fmt: skip
        weight = Weight.EXPLAINS if is_only else Weight.PARTLY
        yield Diagnosis(sentence, evidence, tuple(commands), weight, CAUSES)


def order_answered(facts: FleetFacts) -> bool:
    """Whether some name server said which configurations it has, or that it has none."""
    code = RequestCode.GET_KVLIST_BY_NAMESPACE
    return any(one.codes.get(code, 0) in (0, ResponseCode.QUERY_NOT_FOUND) for one in facts.readable)


def order(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic with such a configuration, where some name server has it."""
    wrong: dict[str, list[tuple[NameServerFacts, str]]] = {}
    for one in facts.readable:
        for topic, text in one.order.items():
            if mistake := order_conf_mistake(text):
                wrong.setdefault(topic, []).append((one, mistake))
    for topic, found in sorted(wrong.items()):
        sentence = _("The order configuration of the topic %(topic)s is malformed: clients fail when they read it in "
                     "the topic's route.") % {"topic": topic}  # fmt: skip
        evidence = tuple(
            _("%(addr)s has the part %(part)s in it (request 219, namespace ORDER_TOPIC_CONFIG), orderMessageEnable is "
              "%(enabled)s") % {"addr": one.addr, "part": mistake, "enabled": _enabled(one)}
            for one, mistake in found
        )  # fmt: skip
        commands = (
            _("# a valid one is broker-a:8;broker-b:8, each broker with the number of its queues"),
            mqadmin(facts, "updateOrderConf", "-t", topic, "-m", "delete"),
        )
        weight = _weight_of_order(facts, topic, [one for one, _ in found])
        yield Diagnosis(sentence, evidence, commands, weight)


def _enabled(one: NameServerFacts) -> str:
    return (one.configuration or {}).get("orderMessageEnable", "?")


def _weight_of_order(facts: FleetFacts, topic: str, having: list[NameServerFacts]) -> Weight:
    if all(_enabled(one) == "false" for one in having):
        return Weight.NOTE  # until somebody switches it on
    if facts.options.topics and topic not in facts.options.topics:
        return Weight.ELSEWHERE
    return Weight.EXPLAINS if len(having) == len(facts.readable) and facts.options.topics else Weight.PARTLY


def wiped(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for the brokers whose write permission is wiped, and one for each that takes it from its own topics."""
    own = facts.restricted
    for addr, broker in sorted(own.items()):
        yield _own_permission(facts, broker, addr)
    found = {name: addresses for name, addresses in wiped_brokers(facts).items()
             if facts.masters().get(name) not in own or own[facts.masters()[name]].permission & PERM_WRITE}  # fmt: skip
    if not found:
        return
    weight = weight_of_brokers(facts, found.keys())
    words = {"brokers": listed(found), "topics": listed(facts.options.topics)}
    if facts.options.topics and weight is Weight.EXPLAINS:
        sentence = _("The write permission of %(brokers)s is wiped, and %(topics)s has no other broker: producers get "
                     "\"No route info of this topic\".") % words  # fmt: skip
    else:
        sentence = _("The write permission of %(brokers)s is wiped, so producers find no queue there.") % words
    evidence = tuple(
        _("%(broker)s at %(addr)s: its topic SELF_TEST_TOPIC, which is always writable, has the permission %(perm)s")
        % {"broker": broker, "addr": addr, "perm": perm_text(perm)}
        for broker, addresses in sorted(found.items()) for addr, perm in addresses.items()
    )  # fmt: skip
    commands = tuple(mqadmin(facts, "addWritePerm", "-b", broker) for broker in sorted(found))
    yield Diagnosis(sentence, evidence, commands, weight)


def _own_permission(facts: FleetFacts, broker: BrokerFacts, addr: str) -> Diagnosis:
    """addWritePerm changes nothing there: the next registration of the broker takes the permission away again."""
    words = {"broker": broker.name, "addr": addr, "perm": broker.setting("brokerPermission"),
             "bits": perm_text(broker.permission)}  # fmt: skip
    if broker.permission & PERM_WRITE:
        sentence = _("The broker %(broker)s has brokerPermission=%(perm)s, so consumers get none of its messages.")
    else:
        sentence = _("The broker %(broker)s has brokerPermission=%(perm)s, so producers find no queue there.")
    evidence = _("%(broker)s (%(addr)s): brokerPermission is %(bits)s, and holds for all of its topics (request 26)")
    command = mqadmin(facts, "updateBrokerConfig", "-b", addr, "-k", "brokerPermission", "-v", "6")
    return Diagnosis(sentence % words, (evidence % words,), (command,), weight_of_brokers(facts, {broker.name}))


def wiped_brokers(facts: FleetFacts) -> dict[str, dict[str, int]]:
    """By broker name, the name servers that show its own topic without write permission, with that permission."""
    found: dict[str, dict[str, int]] = {}
    masters = facts.masters()
    for one in facts.readable:
        for broker, queues in one.queues(SELF_TEST_TOPIC).items():
            # A name server itself wipes a group whose slave acts as master.
            if not queues.perm & PERM_WRITE and broker in masters:
                found.setdefault(broker, {})[one.addr] = queues.perm
    return found


def read_only(facts: FleetFacts) -> Iterator[Diagnosis]:
    """Findings for each topic with queues that cannot be written, or cannot be read."""
    for topic in facts.options.topics:
        ill = _ill_queues(facts, topic)
        unwritable = {name: one for name, one in ill.items() if not _allows(one, PERM_WRITE)}
        unreadable = {name: one for name, one in ill.items() if not _allows(one, PERM_READ)}
        if unwritable and unwritable.keys() >= facts.queues(topic).keys():
            yield _not_allowed(facts, topic, unwritable, _(
                "The topic %(topic)s cannot be written on any of its brokers, %(brokers)s: producers get \"No route "
                "info of this topic\"."
            ))  # fmt: skip
        elif unwritable:
            yield _not_allowed(facts, topic, unwritable, _(
                "The topic %(topic)s cannot be written on %(brokers)s, so producers find no queue of it there."
            ))  # fmt: skip
        if unreadable:
            yield _not_allowed(facts, topic, unreadable, _(
                "The topic %(topic)s cannot be read on %(brokers)s, so consumers get none of its messages there."
            ))  # fmt: skip


def _ill_queues(facts: FleetFacts, topic: str) -> dict[str, QueueData]:
    """By broker. What the whole broker lacks, or a name server takes from all of it, is not the topic's fault."""
    everywhere, own = wiped_brokers(facts), {one.name: one.permission for one in facts.restricted.values()}
    ill: dict[str, QueueData] = {}
    for one in facts.name_servers:
        for name, queues in one.queues(topic).items():
            of_broker = own.get(name, PERM_READ | PERM_WRITE)
            if one.addr in everywhere.get(name, {}):
                of_broker &= ~PERM_WRITE
            if any(of_broker & bit and not _allows(queues, bit) for bit in (PERM_READ, PERM_WRITE)):
                ill[name] = queues
    return ill


def _allows(queues: QueueData, bit: int) -> bool:
    return bool(queues.perm & bit) and (queues.write_queue_nums if bit == PERM_WRITE else queues.read_queue_nums) > 0


def _not_allowed(facts: FleetFacts, topic: str, ill: dict[str, QueueData], sentence: str) -> Diagnosis:
    masters, commands = facts.masters(), []
    evidence = tuple(
        _("%(broker)s: permission %(perm)s, %(read)d read queues, %(write)d write queues (request 105)")
        % {"broker": name, "perm": perm_text(one.perm), "read": one.read_queue_nums, "write": one.write_queue_nums}
        for name, one in sorted(ill.items())
    )
    for name, one in sorted(ill.items()):
        if (addr := masters.get(name)) is not None:
            read, write = one.read_queue_nums, one.write_queue_nums
            count = str(max(read, write, 1))
            command, queues = ("updateTopicPerm", ()) if read and write else ("updateTopic", ("-r", count, "-w", count))
            commands.append(mqadmin(facts, command, "-b", addr, "-t", topic, *queues, "-p", "6"))
    weight = Weight.EXPLAINS if ill.keys() >= facts.queues(topic).keys() else Weight.PARTLY
    words = {"topic": topic, "brokers": listed(ill)}
    return Diagnosis(sentence % words, evidence, tuple(commands), weight)


def perm_text(perm: int) -> str:
    """As PermName.perm2String writes it: ``RW-``, with the number."""
    letters = "".join(letter if perm & bit else "-" for bit, letter in ((PERM_READ, "R"), (PERM_WRITE, "W")))
    return f"{perm} ({letters})"


# A producer asks for so many, and a broker gives no more: DefaultMQProducer.defaultTopicQueueNums.
CREATED_QUEUES_MAX = 4


def few(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic that looks created automatically, and that only some brokers of its cluster have."""
    creators, groups = set(facts.queues(CREATION_TOPIC)), facts.groups
    masters = set(facts.masters())
    for topic in facts.options.topics:
        queues = facts.queues(topic)
        clusters = {groups[name].cluster or "" for name in queues if name in groups}
        peers = {name for cluster in clusters for name in facts.clusters.get(cluster, ())} & masters
        looks_created = all(
            one.read_queue_nums == one.write_queue_nums <= CREATED_QUEUES_MAX for one in queues.values()
        )
        lacking = peers - queues.keys()
        if not (lacking and looks_created and creators & queues.keys()):
            continue
        sentence = _("The topic %(topic)s is on %(having)s only, and not on %(lacking)s: it was created by the first "
                     "message to it, so all its load is there.") % {
            "topic": topic, "having": listed(queues), "lacking": listed(lacking)}  # fmt: skip
        evidence = tuple(
            _("%(broker)s has %(n)d queues of %(topic)s, and creates topics by itself") % {
                "broker": name, "n": one.write_queue_nums, "topic": topic}
            for name, one in sorted(queues.items())
        )  # fmt: skip
        commands = tuple(mqadmin(facts, "updateTopic", "-c", cluster, "-t", topic) for cluster in sorted(clusters))
        yield Diagnosis(sentence, evidence, commands, Weight.NOTE)
