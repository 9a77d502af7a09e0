"""Connections that end: a restart of the server, and clients that leave."""

from support import Context, clear, say


def broken(run):
    """The error of the driver that `run` ends with, since its connection is closed."""
    try:
        run()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("a closed connection was used")


def check_a_client_that_leaves_in_a_result(context):
    clear(context.g)
    context.ask("g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).addV('point').iterate()")
    leaving = Context(context.url, context.serializer)
    results = leaving.client.submit("g.V().V().V()", request_options={"evaluationTimeout": 1000})
    assert len(results.one()) > 0
    # This waits for the end of the query, here that of its time.
    leaving.close()
    say("idle")


def check_a_client_that_leaves_in_a_transaction(context):
    clear(context.g)
    leaving = Context(context.url, context.serializer)
    leaving.g.tx().begin().add_v("person").iterate()
    leaving.close()
    say("idle")
    assert context.g.V().count().next() == 0


def check_a_restart_of_the_server(context):
    """The driver keeps connections that were closed: others are to be made after the server was restarted."""
    old = Context(context.url, context.serializer, pool_size=1)
    clear(old.g)
    old.g.add_v("person").iterate()
    assert old.ask("g.V().count()") == [1]
    within = old.g.tx().begin()
    within.add_v("person").iterate()
    say("restart")
    for _ in range(2):
        for use in [lambda: old.g.V().next(), lambda: old.ask("g.V()"), lambda: within.V().next()]:
            assert "closed" in broken(use)
    again = Context(context.url, context.serializer)
    # The open transaction is gone.
    assert again.g.V().count().next() == 1
    again.close()
