"""Transactions, conflicts, errors, time limits, and many requests at once."""

from gremlin_python.driver.client import Client
from gremlin_python.process.graph_traversal import __
from support import ENDLESS, clear, refused


def check_transactions(context):
    g = context.g
    clear(g)
    tx = g.tx()
    within = tx.begin()
    within.add_v("person").property("name", "ann").iterate()
    assert within.V().count().next() == 1
    assert g.V().count().next() == 0
    tx.commit().all().result()
    assert g.V().count().next() == 1
    tx = g.tx()
    within = tx.begin()
    within.add_v("person").iterate()
    tx.rollback()
    assert g.V().count().next() == 1
    # Closed without either: rolled back.
    tx = g.tx()
    tx.begin().add_v("person").iterate()
    tx.close()
    assert g.V().count().next() == 1


def check_conflicts(context):
    g = context.g
    clear(g)
    g.add_v("counter").property("value", 0).iterate()
    first, second = g.tx(), g.tx()
    within_first, within_second = first.begin(), second.begin()
    within_first.V().property("value", 1).iterate()

    def write():
        within_second.V().property("value", 2).iterate()
        first.commit().all().result()
        second.commit().all().result()

    error = refused(write, 596)
    assert "conflict" in str(error), error
    assert error.status_attributes["kind"] == "conflict", error.status_attributes
    if first.is_open():
        first.commit()
    if second.is_open():
        second.rollback()
    assert g.V().values("value").next() == 1


def check_errors(context):
    g = context.g
    error = refused(lambda: g.inject(1).fail("no stock").next(), 595)
    assert "no stock" in str(error), error
    error = refused(lambda: context.ask("g.V().otu()"), 597)
    attributes = error.status_attributes
    assert (attributes["kind"], attributes["line"], attributes["column"]) == ("invalid", 1, 7), attributes
    error = refused(lambda: g.V().math("_ +").next(), 597)
    assert "step 2 (`math`)" in str(error), error
    # The connections can be used as before.
    assert g.inject(7).to_list() == [7]
    assert context.ask("g.inject(x)", x=7) == [7]
    # In a transaction, a failed write leaves nothing but a rollback.
    tx = g.tx()
    within = tx.begin()
    refused(lambda: within.add_v("person").fail("no").iterate(), 595)
    error = refused(lambda: within.V().count().next(), 597)
    assert "rolled back" in str(error), error
    tx.rollback()


def check_time_limits(context):
    g, client = context.g, context.client
    soon = {"evaluationTimeout": 100}
    refused(lambda: client.submit(ENDLESS, request_options=soon).all().result(), 598)
    assert context.ask("g.inject(x)", x=7) == [7]

    def endless(source):
        source = source.with_("evaluationTimeout", 100)
        return source.inject(1).repeat(__.identity()).until(__.is_(2))

    refused(lambda: endless(g).next(), 598)
    assert g.inject(7).to_list() == [7]
    # In a transaction, which goes on: the query only read.
    tx = g.tx()
    within = tx.begin()
    refused(lambda: endless(within).next(), 598)
    assert within.inject(7).to_list() == [7]
    tx.commit().all().result()


def check_many_at_once(context):
    client = Client(context.url, "g", message_serializer=context.serializer(), pool_size=4, max_workers=4)
    results = [client.submit_async("g.inject(x)", {"x": number}) for number in range(200)]
    assert [result.result().all().result() for result in results] == [[number] for number in range(200)]
    client.close()
