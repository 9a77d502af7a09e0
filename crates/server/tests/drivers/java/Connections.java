// Connections that end: a restart of the server, and clients that leave.

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;

final class Connections extends Support {
    static final List<Named<Context>> CHECKS = List.of(
        new Named<>("a client that leaves in a result", Connections::leavesInResult),
        new Named<>("a client that leaves in a transaction", Connections::leavesInTransaction),
        new Named<>("a restart of the server", Connections::restart));

    static void leavesInResult(Context context) throws Exception {
        clear(context.g());
        ask(context.client(), "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).addV('point')");
        try (Context leaving = connect(context.site(), options -> {})) {
            that(leaving.client().submit("g.V().V().V()").one() != null, "a row");
        }
        // Its query is cancelled.
        say("idle");
    }

    static void leavesInTransaction(Context context) throws Exception {
        clear(context.g());
        try (Context leaving = connect(context.site(), options -> {})) {
            GraphTraversalSource within = leaving.g().tx().begin();
            within.addV("person").iterate();
        }
        say("idle");
        same(context.g().V().count().next(), 0L);
    }

    static void restart(Context context) throws Exception {
        var g = context.g();
        clear(g);
        g.addV("person").iterate();
        var tx = g.tx();
        GraphTraversalSource within = tx.begin();
        within.addV("person").iterate();
        say("restart");
        // Requests fail until the driver has noticed, and then it connects again. A transaction goes on in another one,
        // without what it did before.
        same(untilConnected(() -> within.V().count().next()), 1L);
        tx.commit();
        same(untilConnected(() -> g.V().count().next()), 1L);
        same(untilConnected(() -> ask(context.client(), "g.V().count()")), 1L);
    }

    static Object untilConnected(Callable<Object> query) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (true) {
            try {
                return query.call();
            } catch (Exception error) {
                if (System.nanoTime() > end) throw error;
                Thread.sleep(50);
            }
        }
    }
}
