"""Many rows in order, and large ones."""

from gremlin_python.process.graph_traversal import __
from support import clear


def check_many_rows_in_order(context):
    g = context.g
    clear(g)
    g.inject(0).repeat(__.union(__.identity(), __.identity())).times(9).limit(500).add_v("point").iterate()
    ids = g.V().id_().to_list()
    assert len(set(ids)) == 500, ids
    # GraphSON is slow in this driver.
    first = ids if context.is_binary else ids[:50]
    rows = 0
    for part in context.client.submit("g.V(first).V().id()", {"first": first}):
        for row in part:
            assert row == ids[rows % 500], (rows, row)
            rows += 1
    assert rows == len(first) * 500, rows


def check_twenty_megabytes_in_a_hundred_rows(context):
    g = context.g
    clear(g)
    text = "x" * 200_000
    query = (
        "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)"
        ".addV('document').property('text', text).iterate()"
    )
    context.ask(query, text=text)
    # The driver breaks at a message of more than 10 MiB: frames end before.
    assert g.V().has_label("document").values("text").to_list() == [text] * 100
    assert context.ask("g.V().values('text')") == [text] * 100
    clear(g)
