"""Transactions at two nodes of a cluster: what both read, what is rolled back, and who meets a conflict."""

import time

from support import Context, clear, refused

# How long a node may take to apply what another one has committed: mostly milliseconds.
APPLIED_WITHIN = 30


class Nodes(Context):
    """Connections to two nodes: this is one to the first."""

    def __init__(self, first, second, serializer):
        super().__init__(first, serializer)
        self.second = Context(second, serializer)

    def close(self):
        self.second.close()
        super().close()


def eventually(read, expected):
    """Waits until a node reads what another one has committed."""
    began = time.monotonic()
    while (found := read()) != expected:
        assert time.monotonic() - began < APPLIED_WITHIN, (found, expected)
        time.sleep(0.02)


def begin_counters(context, *names):
    """One counter of each name at 0, which both nodes have, and nothing else."""
    clear(context.g)
    for name in names:
        context.g.add_v("counter").property("name", name).property("value", 0).iterate()
    eventually(lambda: read_counters(context.second), dict.fromkeys(names, 0))


def read_counters(node):
    """The values of all vertices by their names."""
    found = node.g.V().has_label("counter").project("name", "value").by("name").by("value").to_list()
    return {one["name"]: one["value"] for one in found}


def set_counter(source, name, value):
    source.V().has("counter", "name", name).property("value", value).iterate()


def is_conflict(error):
    """Whether the client is told that it may run the transaction again."""
    return error.status_attributes["kind"] == "conflict" and "conflict" in str(error)


def check_both_nodes_read_what_one_commits(context):
    first, second = context.g, context.second.g
    clear(first)
    ann = first.add_v("person").property("name", "ann").next()
    tx = first.tx()
    within = tx.begin()
    # Vertices of several partitions, half of which the other node has.
    for number in range(10):
        friend = within.add_v("person").property("name", f"friend {number}").next()
        within.V(ann.id).add_e("knows").to(friend).property("since", 1833 + number).iterate()
    assert within.V(ann.id).out("knows").count().next() == 10
    assert first.V().out("knows").count().next() == 0
    assert second.V().out("knows").count().next() == 0
    tx.commit().all().result()
    assert first.V().out("knows").count().next() == 10
    eventually(lambda: second.V().out("knows").count().next(), 10)
    assert second.V(ann.id).out_e("knows").values("since").sum_().next() == sum(range(1833, 1843))
    assert sorted(context.second.ask("g.V().in('knows').values('name').dedup()")) == ["ann"]
    # The other way round.
    second.V(ann.id).property("name", "anna").iterate()
    eventually(lambda: first.V(ann.id).values("name").to_list(), ["anna"])


def check_what_is_rolled_back_is_on_neither_node(context):
    begin_counters(context, "a")
    for node in [context, context.second]:
        tx = node.g.tx()
        within = tx.begin()
        set_counter(within, "a", 7)
        within.add_v("counter").property("name", "b").property("value", 7).iterate()
        assert within.V().count().next() == 2
        tx.rollback()
        # Closed without either: rolled back as well.
        tx = node.g.tx()
        tx.begin().V().drop().iterate()
        tx.close()
        assert read_counters(node) == {"a": 0}
    # What was committed later has arrived, and nothing else has.
    context.g.add_v("counter").property("name", "c").property("value", 1).iterate()
    eventually(lambda: read_counters(context.second), {"a": 0, "c": 1})
    assert read_counters(context) == {"a": 0, "c": 1}


def check_the_second_of_two_that_change_the_same_is_refused_at_its_own_node(context):
    for winner, loser in [(context, context.second), (context.second, context)]:
        begin_counters(context, "a")
        first, second = winner.g.tx(), loser.g.tx()
        within_first, within_second = first.begin(), second.begin()
        set_counter(within_first, "a", 1)
        set_counter(within_second, "a", 2)
        first.commit().all().result()
        error = refused(lambda: second.commit().all().result(), 596)
        assert is_conflict(error), error.status_attributes
        # That transaction is over, and has left nothing. Run again it goes through.
        eventually(lambda: read_counters(loser), {"a": 1})
        again = loser.g.tx()
        within = again.begin()
        assert within.V().values("value").next() == 1
        set_counter(within, "a", 2)
        again.commit().all().result()
        for node in [winner, loser]:
            eventually(lambda: read_counters(node), {"a": 2})


def check_serializable_transactions_do_not_skew_across_nodes(context):
    for isolation in ["snapshot", "serializable"]:
        begin_counters(context, "a", "b")
        first, second = context.g.tx(), context.second.g.tx()
        within_first, within_second = first.begin(), second.begin()
        # Each reads what the other writes.
        for within, reads in [(within_first, "a"), (within_second, "b")]:
            found = within.with_("isolation", isolation).V().has("counter", "name", reads).values("value").next()
            assert found == 0
        set_counter(within_first, "b", 1)
        set_counter(within_second, "a", 1)
        first.commit().all().result()
        if isolation == "snapshot":
            second.commit().all().result()
            expected = {"a": 1, "b": 1}
        else:
            error = refused(lambda: second.commit().all().result(), 596)
            assert is_conflict(error), error.status_attributes
            expected = {"a": 0, "b": 1}
        for node in [context, context.second]:
            eventually(lambda: read_counters(node), expected)
