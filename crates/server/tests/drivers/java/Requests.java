// Transactions, conflicts, errors, time limits, and many requests at once.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.tinkerpop.gremlin.driver.RequestOptions;
import org.apache.tinkerpop.gremlin.driver.ResultSet;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Transaction;

final class Requests extends Support {
    static final List<Named<Context>> CHECKS = List.of(
        new Named<>("transactions", Requests::transactions),
        new Named<>("conflicts", Requests::conflicts),
        new Named<>("errors", Requests::errors),
        new Named<>("time-outs", Requests::timeOuts),
        new Named<>("many at once", Requests::manyAtOnce));

    static void transactions(Context context) {
        var g = context.g();
        clear(g);
        var tx = g.tx();
        GraphTraversalSource within = tx.begin();
        within.addV("person").property("name", "ann").iterate();
        same(within.V().count().next(), 1L);
        same(g.V().count().next(), 0L);
        tx.commit();
        same(g.V().count().next(), 1L);
        tx = g.tx();
        within = tx.begin();
        within.addV("person").iterate();
        tx.rollback();
        same(g.V().count().next(), 1L);
        // Closed without a rollback; by itself `close` of this driver commits.
        tx = g.tx();
        tx.onClose(Transaction.CLOSE_BEHAVIOR.ROLLBACK);
        within = tx.begin();
        within.addV("person").iterate();
        tx.close();
        same(g.V().count().next(), 1L);
        tx = g.tx();
        within = tx.begin();
        within.addV("person").iterate();
        tx.close();
        same(g.V().count().next(), 2L);
    }

    static void conflicts(Context context) throws Exception {
        var g = context.g();
        clear(g);
        g.addV("counter").property("value", 0).iterate();
        var first = g.tx();
        var second = g.tx();
        GraphTraversalSource inFirst = first.begin();
        GraphTraversalSource inSecond = second.begin();
        inFirst.V().property("value", 1).iterate();
        ResponseException error = refused(596, () -> {
            inSecond.V().property("value", 2).iterate();
            first.commit();
            second.commit();
        });
        that(error.getMessage().contains("conflict"), error);
        same(error.getStatusAttributes().get().get("kind"), "conflict");
        if (first.isOpen()) first.commit();
        if (second.isOpen()) second.rollback();
        same(g.V().values("value").next(), 1);
    }

    static void errors(Context context) throws Exception {
        var g = context.g();
        ResponseException error = refused(595, () -> g.inject(1).fail("no stock").next());
        that(error.getMessage().contains("no stock"), error);
        error = refused(597, () -> ask(context.client(), "g.V().otu()"));
        Map<String, Object> attributes = error.getStatusAttributes().get();
        same(attributes.get("kind"), "invalid");
        same(((Number) attributes.get("line")).intValue(), 1);
        same(((Number) attributes.get("column")).intValue(), 7);
        error = refused(597, () -> g.V().math("_ +").next());
        that(error.getMessage().contains("step 2 (`math`)"), error);
        // The connections can be used as before.
        same(g.inject(7).next(), 7);
        same(ask(context.client(), "g.inject(x)", 7), 7);
        // In a transaction, a failed write leaves nothing but a rollback.
        var tx = g.tx();
        GraphTraversalSource within = tx.begin();
        refused(595, () -> within.addV("person").fail("no").iterate());
        error = refused(597, () -> within.V().count().next());
        that(error.getMessage().contains("rolled back"), error);
        tx.rollback();
    }

    static void timeOuts(Context context) throws Exception {
        RequestOptions soon = RequestOptions.build().timeout(100).create();
        refused(598, () -> context.client().submit(ENDLESS, soon).all().get());
        same(ask(context.client(), "g.inject(x)", 7), 7);
        var query = context.g().with("evaluationTimeout", 100L).inject(1).repeat(__.identity()).until(__.is(2));
        refused(598, query::next);
        same(context.g().inject(7).next(), 7);
        // In a transaction, which goes on: the query only read.
        var tx = context.g().tx();
        GraphTraversalSource within = tx.begin();
        var endless = within.with("evaluationTimeout", 100L).inject(1).repeat(__.identity()).until(__.is(2));
        refused(598, endless::next);
        same(within.inject(7).next(), 7);
        tx.commit();
    }

    static void manyAtOnce(Context context) throws Exception {
        List<CompletableFuture<ResultSet>> results = new ArrayList<>();
        for (int number = 0; number < 1000; number++)
            results.add(context.client().submitAsync("g.inject(x)", Map.of("x", number)));
        for (int number = 0; number < 1000; number++) same(results.get(number).get().one().getInt(), number);
    }
}
