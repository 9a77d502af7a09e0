// Checks a server with gremlin-driver, as its users query it: `java DriverChecks.java ws://127.0.0.1:8182/gremlin`.
//
// Each entry of `CHECKS` is one check, run in both formats; the last line says how many passed. The program that runs
// this restarts the server when it reads the line "restart", and then writes a line.

import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.tinkerpop.gremlin.driver.Client;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.apache.tinkerpop.gremlin.driver.RequestOptions;
import org.apache.tinkerpop.gremlin.driver.ResultSet;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.structure.VertexProperty;
import org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1;
import org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3;

public class DriverChecks {
    record Context(GraphTraversalSource g, Client client, boolean isBinary) {}

    interface Check {
        void run(Context context) throws Exception;
    }

    interface Action {
        void run() throws Exception;
    }

    static final Map<String, Check> CHECKS = new LinkedHashMap<>();

    static {
        CHECKS.put("values of every type", DriverChecks::valuesOfEveryType);
        CHECKS.put("elements", DriverChecks::elements);
        CHECKS.put("bulk", DriverChecks::bulk);
        CHECKS.put("transactions", DriverChecks::transactions);
        CHECKS.put("conflicts", DriverChecks::conflicts);
        CHECKS.put("errors", DriverChecks::errors);
        CHECKS.put("time-outs", DriverChecks::timeOuts);
        CHECKS.put("many at once", DriverChecks::manyAtOnce);
        CHECKS.put("many rows", DriverChecks::manyRows);
        CHECKS.put("20 MB in 100 rows", DriverChecks::twentyMegabytes);
        CHECKS.put("reconnects", DriverChecks::reconnects);
    }

    static void same(Object found, Object expected) {
        if (!Objects.equals(found, expected)) throw new AssertionError("found " + found + ", expected " + expected);
    }

    static void that(boolean holds, Object found) {
        if (!holds) throw new AssertionError(String.valueOf(found));
    }

    /** The server's error that `action` ends with. */
    static ResponseException refused(Action action) throws Exception {
        try {
            action.run();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                if (cause instanceof ResponseException found) return found;
            throw error;
        }
        throw new AssertionError("an error was expected");
    }

    static int status(ResponseException error) {
        return error.getResponseStatusCode().getValue();
    }

    static Object ask(Client client, String text, Object... bindings) throws Exception {
        Map<String, Object> named = new HashMap<>();
        if (bindings.length > 0) named.put("x", bindings[0]);
        return client.submit(text, named).one().getObject();
    }

    static void clear(Context context) {
        context.g.V().drop().iterate();
    }

    static void valuesOfEveryType(Context context) throws Exception {
        List<Object> values = new ArrayList<>(Arrays.asList(
            true, false, 1, -5, 1L << 40, (short) 3, (byte) 4, 0.5f, 1.5, "text", "ä😀", 'x', BigInteger.ONE.shiftLeft(80),
            new BigDecimal("1.25"), new UUID(0, 7), OffsetDateTime.parse("2024-02-03T04:05:06.789Z"), Duration.ofMillis(90_500),
            List.of(1, List.of("a")), Set.of(1, "a"), Map.of("a", 1, 2, List.of()), Double.POSITIVE_INFINITY));
        values.add(ByteBuffer.wrap(new byte[] {0, -1}));
        for (Object value : values) {
            // As characters are texts in Gremlin.
            Object expected = value instanceof Character ? value.toString() : value;
            Object found = context.g.inject(value).next();
            same(found instanceof Character ? found.toString() : found, expected);
            found = ask(context.client, "g.inject(x)", value);
            same(found instanceof Character ? found.toString() : found, expected);
        }
        same(context.g.inject(1, null).toList(), Arrays.asList(1, null));
    }

    static void elements(Context context) {
        clear(context);
        var g = context.g;
        Vertex ann = g.addV("person").property("name", "ann").property("age", 41).next();
        Vertex bob = g.addV("person").property("name", "bob").next();
        Edge edge = g.V(ann.id()).addE("knows").to(__.V(bob.id())).property("since", 1833).next();
        same(List.of(edge.outVertex().id(), edge.inVertex().id(), edge.label()), List.of(ann.id(), bob.id(), "knows"));
        same(edge.<Object>value("since"), 1833);
        Vertex found = g.V(ann).next();
        same(List.of(found.label(), found.<Object>value("name"), found.<Object>value("age")), List.of("person", "ann", 41));
        VertexProperty<Object> property = (VertexProperty<Object>) g.V(ann).properties("name").next();
        same(property.value(), "ann");
        same(g.E(edge).properties().next().value(), 1833);
        var path = g.V(ann).as("a").outE("knows").inV().values("name").path().next();
        same(List.<Object>of(path.size(), path.<Object>get("a"), path.<Object>get(3)), List.of(4, ann, "bob"));
        same(g.V(ann).valueMap().next(), Map.of("name", List.of("ann"), "age", List.of(41)));
        Map<Object, Object> map = g.E(edge).elementMap().next();
        same(map.get(T.label), "knows");
        same(((Map<?, ?>) map.get(Direction.OUT)).get(T.id), ann.id());
        same(g.V().groupCount().by("name").next(), Map.of("ann", 1L, "bob", 1L));
        same(g.V().values("name").order().by(Order.desc).toList(), List.of("bob", "ann"));
        same(g.V().has("age", P.gt(40)).count().next(), 1L);
        same(g.V().has("name", P.within("bob", "eve")).id().toList(), List.of(bob.id()));
        same(g.V().has("name", "nobody").toList(), List.of());
        var tree = g.V(ann).out("knows").tree().next();
        same(tree.size(), 1);
    }

    static void bulk(Context context) {
        Object[] ones = new Object[1000];
        Arrays.fill(ones, 1);
        same(context.g.inject(ones).barrier().toList(), Arrays.asList(ones));
    }

    static void transactions(Context context) {
        clear(context);
        var g = context.g;
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
        tx.onClose(org.apache.tinkerpop.gremlin.structure.Transaction.CLOSE_BEHAVIOR.ROLLBACK);
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
        clear(context);
        var g = context.g;
        g.addV("counter").property("value", 0).iterate();
        var first = g.tx();
        var second = g.tx();
        GraphTraversalSource inFirst = first.begin();
        GraphTraversalSource inSecond = second.begin();
        inFirst.V().property("value", 1).iterate();
        ResponseException error = refused(() -> {
            inSecond.V().property("value", 2).iterate();
            first.commit();
            second.commit();
        });
        same(status(error), 596);
        that(error.getMessage().contains("conflict"), error.getMessage());
        same(error.getStatusAttributes().get().get("kind"), "conflict");
        if (first.isOpen()) first.commit();
        if (second.isOpen()) second.rollback();
        same(g.V().values("value").next(), 1);
    }

    static void errors(Context context) throws Exception {
        var g = context.g;
        ResponseException error = refused(() -> g.inject(1).fail("no stock").next());
        same(status(error), 595);
        that(error.getMessage().contains("no stock"), error.getMessage());
        error = refused(() -> ask(context.client, "g.V().otu()"));
        same(status(error), 597);
        Map<String, Object> attributes = error.getStatusAttributes().get();
        same(attributes.get("kind"), "invalid");
        same(((Number) attributes.get("line")).intValue(), 1);
        same(((Number) attributes.get("column")).intValue(), 7);
        // In a transaction, a failed write leaves nothing but a rollback.
        var tx = g.tx();
        GraphTraversalSource within = tx.begin();
        refused(() -> within.addV("person").fail("no").iterate());
        error = refused(() -> within.V().count().next());
        that(error.getMessage().contains("rolled back"), error.getMessage());
        tx.rollback();
    }

    static void timeOuts(Context context) throws Exception {
        String endless = "g.inject(1).repeat(__.identity()).until(__.is(2))";
        RequestOptions soon = RequestOptions.build().timeout(100).create();
        same(status(refused(() -> context.client.submit(endless, soon).all().get())), 598);
        var query = context.g.with("evaluationTimeout", 100L).inject(1).repeat(__.identity()).until(__.is(2));
        same(status(refused(query::next)), 598);
    }

    static void manyAtOnce(Context context) throws Exception {
        List<CompletableFuture<ResultSet>> results = new ArrayList<>();
        for (int number = 0; number < 1000; number++)
            results.add(context.client.submitAsync("g.inject(x)", Map.of("x", number)));
        for (int number = 0; number < 1000; number++) same(results.get(number).get().one().getInt(), number);
    }

    static void manyRows(Context context) throws Exception {
        clear(context);
        context.g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).limit(1000).addV("point").iterate();
        long count = context.isBinary ? 1_000_000 : 100_000;
        long rows = 0;
        String query = "g.V().as('a').V().as('b').select('b').id().limit(" + count + ")";
        for (var row : context.client.submit(query)) rows += 1;
        same(rows, count);
    }

    static void twentyMegabytes(Context context) throws Exception {
        clear(context);
        String text = "x".repeat(200_000);
        String query = "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)"
            + ".addV('document').property('text', x).iterate()";
        context.client.submit(query, Map.of("x", text)).all().get();
        List<Object> found = context.g.V().hasLabel("document").values("text").toList();
        same(found, Collections.nCopies(100, text));
        clear(context);
    }

    static void reconnects(Context context) throws Exception {
        clear(context);
        context.g.addV("person").iterate();
        var tx = context.g.tx();
        GraphTraversalSource within = tx.begin();
        within.addV("person").iterate();
        System.out.println("restart");
        System.in.read(new byte[100]);
        // Requests fail until the driver has noticed, and then it connects again; the open transaction is gone.
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (true) {
            try {
                same(context.g.V().count().next(), 1L);
                same(ask(context.client, "g.V().count()"), 1L);
                return;
            } catch (Exception error) {
                if (System.nanoTime() > end) throw error;
                Thread.sleep(50);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        URI url = new URI(arguments[0]);
        int passed = 0;
        for (boolean isBinary : List.of(true, false)) {
            var serializer = isBinary ? new GraphBinaryMessageSerializerV1() : new GraphSONMessageSerializerV3();
            Cluster cluster = Cluster.build(url.getHost()).port(url.getPort()).serializer(serializer)
                .reconnectInterval(100).create();
            Client client = cluster.connect();
            var g = traversal().with(DriverRemoteConnection.using(cluster, "g"));
            for (var check : CHECKS.entrySet()) {
                long began = System.nanoTime();
                try {
                    check.getValue().run(new Context(g, client, isBinary));
                } catch (Throwable error) {
                    System.err.println(check.getKey() + " failed with " + serializer.getClass().getSimpleName());
                    error.printStackTrace();
                    System.exit(1);
                }
                System.out.println(check.getKey() + ": " + (System.nanoTime() - began) / 1_000_000 + " ms");
                passed += 1;
            }
            g.close();
            cluster.close();
        }
        System.out.println(passed + " passed");
        System.exit(0);
    }
}
