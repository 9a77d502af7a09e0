package evergraph.peers;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.ResourceIterable;
import org.neo4j.graphdb.Transaction;
import org.neo4j.graphdb.TransientFailureException;
import org.neo4j.io.ByteUnit;
import org.neo4j.kernel.internal.Version;

/**
 * Neo4j's community edition, embedded, over its Java API. A commit returns when the log is synced, always.
 *
 * <p>A node's id is the vertex' number: in a new store ids are given out in order, which {@link #create} checks.
 */
@SuppressWarnings("deprecation") // Ids of elements are texts by now; numbers are quicker to look up by.
final class Neo4jEngine implements Engine {
    private static final RelationshipType EDGE = RelationshipType.withName("EDGE");
    private static final Label VERTEX = Label.label("Vertex");
    private static final int VERTICES_A_TRANSACTION = 50_000;
    /** How often a transaction is begun again, before what it fails with is an error. */
    private static final int REPEATS_MAX = 100;
    /** More than the store of 2^20 vertices and 16 million edges: "store size plus growth", as its manual advises. */
    private static final long PAGE_CACHE_BYTES = ByteUnit.gibiBytes(1);

    private final StoreFolder folder;
    private DatabaseManagementService service;
    private GraphDatabaseService database;
    private int vertices;
    private final AtomicLong repeated = new AtomicLong();

    Neo4jEngine(Path folder) {
        this.folder = new StoreFolder(folder.resolve("neo4j"));
    }

    @Override
    public Map<String, String> settings() {
        return Map.of(
                "version", Version.getNeo4jVersion() + ", community edition, embedded, Java API",
                "server.memory.pagecache.size", PAGE_CACHE_BYTES / ByteUnit.mebiBytes(1) + " MiB: more than the store",
                "transactions", "durable: a commit syncs the log, always",
                "bytes", "store files after a checkpoint, without logs: what the page cache holds");
    }

    @Override
    public void create(int vertices) throws IOException {
        close();
        folder.delete();
        open();
        this.vertices = vertices;
        for (int from = 0; from < vertices; from += VERTICES_A_TRANSACTION) {
            try (Transaction transaction = database.beginTx()) {
                for (int vertex = from; vertex < Math.min(from + VERTICES_A_TRANSACTION, vertices); vertex++) {
                    long id = transaction.createNode(VERTEX).getId();
                    if (id != vertex) {
                        throw new IllegalStateException("node " + vertex + " of a new store has the id " + id
                                + ": the engine counts on ids in order");
                    }
                }
                transaction.commit();
            }
        }
    }

    private void open() {
        this.service = new DatabaseManagementServiceBuilder(folder.path())
                .setConfig(GraphDatabaseSettings.pagecache_memory, PAGE_CACHE_BYTES)
                .build();
        this.database = service.database(GraphDatabaseSettings.DEFAULT_DATABASE_NAME);
    }

    @Override
    public void insert(EdgeFile edges, int from, int to) {
        try (Transaction transaction = database.beginTx()) {
            for (int edge = from; edge < to; edge++) {
                Node target = transaction.getNodeById(edges.target(edge));
                transaction.getNodeById(edges.source(edge)).createRelationshipTo(target, EDGE);
            }
            transaction.commit();
        }
    }

    @Override
    public <T> T read(Function<Adjacency, T> body) {
        return repeatedly(() -> {
            try (Transaction transaction = database.beginTx()) {
                return body.apply(new Store(transaction));
            }
        });
    }

    @Override
    public long repeated() {
        return repeated.get();
    }

    /** A transaction, begun again while it fails because of others. */
    private <T> T repeatedly(Supplier<T> transaction) {
        for (int repeats = 0; ; repeats++) {
            try {
                return transaction.get();
            } catch (TransientFailureException failure) {
                if (repeats == REPEATS_MAX) {
                    throw failure;
                }
                repeated.incrementAndGet();
            }
        }
    }

    private final class Store implements Adjacency {
        private final Transaction transaction;

        Store(Transaction transaction) {
            this.transaction = transaction;
        }

        @Override
        public int vertices() {
            return vertices;
        }

        @Override
        public int outDegree(int vertex) {
            return transaction.getNodeById(vertex).getDegree(EDGE, Direction.OUTGOING);
        }

        @Override
        public void out(int vertex, IntConsumer target) {
            try (ResourceIterable<Relationship> edges = of(vertex, Direction.OUTGOING)) {
                edges.forEach(edge -> target.accept((int) edge.getEndNodeId()));
            }
        }

        @Override
        public void in(int vertex, IntConsumer source) {
            try (ResourceIterable<Relationship> edges = of(vertex, Direction.INCOMING)) {
                edges.forEach(edge -> source.accept((int) edge.getStartNodeId()));
            }
        }

        private ResourceIterable<Relationship> of(int vertex, Direction direction) {
            return transaction.getNodeById(vertex).getRelationships(direction, EDGE);
        }

        @Override
        public void edges(EdgeConsumer consumer) {
            try (ResourceIterable<Relationship> edges = transaction.getAllRelationships()) {
                edges.forEach(edge -> consumer.accept((int) edge.getStartNodeId(), (int) edge.getEndNodeId()));
            }
        }
    }

    /** A text in Cypher; its plan is kept by the text. */
    @Override
    public long query(String text, int start) {
        return repeatedly(() -> database.executeTransactionally(text, Map.of("start", (long) start), rows -> {
            Map<String, Object> row = rows.next();
            return ((Number) row.values().iterator().next()).longValue();
        }));
    }

    @Override
    public List<List<Object>> rows(String text, Map<String, Object> parameters) {
        return repeatedly(() -> database.executeTransactionally(text, parameters, found -> {
            List<String> columns = found.columns();
            List<List<Object>> rows = new ArrayList<>();
            found.forEachRemaining(row -> {
                List<Object> values = new ArrayList<>(columns.size());
                columns.forEach(column -> values.add(row.get(column)));
                rows.add(values);
            });
            return rows;
        }));
    }

    /** Closes the store, which writes a checkpoint, and opens it again: the community edition has no call for one. */
    @Override
    public long bytes() throws IOException {
        close();
        long sum = folder.bytes("data/databases/neo4j");
        open();
        return sum;
    }

    @Override
    public void close() {
        if (service != null) {
            service.shutdown();
            service = null;
        }
    }
}
