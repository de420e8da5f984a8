"""The script: every scenario, by the name of its file in tests/golden."""

from __future__ import annotations

from interop.golden.scenarios import admin, basics, groups, kv, registering, routes
from interop.golden.steps import Scenario

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        basics.empty_server(),
        basics.unknown_topics(),
        basics.header_forms(),
        basics.oneway_and_responses(),
        kv.kv_values(),
        kv.kv_life(),
        kv.order_configuration(),
        registering.master_and_slave(),
        registering.bodies_of_every_age(),
        registering.refused(),
        registering.lenient(),
        routes.many_brokers(),
        routes.filter_servers(),
        routes.static_topics(),
        routes.zones(),
        groups.acting_master(),
        groups.writable_slave(),
        groups.permissions(),
        groups.data_versions(),
        groups.unregistration(),
        admin.topics(),
        admin.switched_off(),
        admin.configuration(),
        admin.topics_follow_registration(),
    )
}
