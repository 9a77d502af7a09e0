// What the checks share.

import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.tinkerpop.gremlin.driver.Client;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.util.MessageSerializer;
import org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1;
import org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3;

class Support {
    static final BufferedReader ANSWERS = new BufferedReader(new InputStreamReader(System.in));
    static final String ENDLESS = "g.inject(1).repeat(__.identity()).until(__.is(2))";

    enum Format {
        GRAPH_BINARY, GRAPH_SON;

        MessageSerializer<?> serializer() {
            return this == GRAPH_BINARY ? new GraphBinaryMessageSerializerV1() : new GraphSONMessageSerializerV3();
        }
    }

    /** The server, and how to log in there, in one format; without users the password is null. */
    record Site(URI url, Format format, String password, String root) {}

    /** A cluster, a client and a source. */
    record Context(Cluster cluster, Client client, GraphTraversalSource g, Site site) implements AutoCloseable {
        boolean isBinary() {
            return site.format == Format.GRAPH_BINARY;
        }

        @Override
        public void close() {
            try {
                g.close();
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            cluster.close();
        }
    }

    interface Check<C> {
        void run(C context) throws Exception;
    }

    record Named<C>(String name, Check<C> check) {}

    interface Action {
        void run() throws Exception;
    }

    static Context connect(Site site, Consumer<Cluster.Builder> options) {
        Cluster.Builder builder = Cluster.build(site.url.getHost()).port(site.url.getPort())
            .serializer(site.format.serializer()).reconnectInterval(100);
        options.accept(builder);
        Cluster cluster = builder.create();
        return new Context(cluster, cluster.connect(), traversal().with(DriverRemoteConnection.using(cluster, "g")), site);
    }

    static void same(Object found, Object expected) {
        that(Objects.equals(found, expected), "found " + found + ", expected " + expected);
    }

    static void that(boolean holds, Object found) {
        if (!holds) throw new AssertionError(String.valueOf(found));
    }

    /** The server's error that `action` ends with. */
    static ResponseException refused(int status, Action action) throws Exception {
        try {
            action.run();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                if (cause instanceof ResponseException found) {
                    that(found.getResponseStatusCode().getValue() == status, found);
                    return found;
                }
            throw error;
        }
        throw new AssertionError("an error was expected");
    }

    static List<Object> askAll(Client client, String text, Object... bindings) throws Exception {
        Map<String, Object> named = new HashMap<>();
        if (bindings.length > 0) named.put("x", bindings[0]);
        return client.submit(text, named).all().get().stream().map(result -> result.getObject()).toList();
    }

    static Object ask(Client client, String text, Object... bindings) throws Exception {
        return askAll(client, text, bindings).get(0);
    }

    static void clear(GraphTraversalSource g) {
        g.V().drop().iterate();
    }

    /** Prints a line, and waits for the answer of the program that runs this. */
    static void say(String line) throws Exception {
        System.out.println(line);
        ANSWERS.readLine();
    }
}
