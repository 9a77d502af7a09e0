package evergraph.peers;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.tinkerpop.gremlin.structure.Graph;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.util.Gremlin;
import org.janusgraph.core.Cardinality;
import org.janusgraph.core.JanusGraphFactory;
import org.janusgraph.core.JanusGraphTransaction;
import org.janusgraph.core.Multiplicity;
import org.janusgraph.core.schema.JanusGraphManagement;
import org.janusgraph.diskstorage.berkeleyje.BerkeleyJEStoreManager;
import org.janusgraph.diskstorage.configuration.Configuration;
import org.janusgraph.graphdb.configuration.GraphDatabaseConfiguration;
import org.janusgraph.graphdb.configuration.JanusGraphConstants;
import org.janusgraph.graphdb.database.StandardJanusGraph;
import org.janusgraph.graphdb.idmanagement.IDManager;

/**
 * JanusGraph on BerkeleyDB's Java edition: embedded, on disk, transactional.
 *
 * <p>Loaded as its page on bulk loading advises: the schema is there before, transactions are for batch loading, ids
 * come in large blocks. A vertex brings its id ({@code graph.set-vertex-id}) and is found by it as by a key: an index on
 * a property of that number would only lead there. One thread reads, as with the others here. All else is at its
 * defaults.
 */
final class JanusGraphEngine extends TinkerPopEngine {
    /** What others here call Vertex and EDGE: JanusGraph keeps these words for itself. */
    private static final String VERTEX = "Node";
    private static final String EDGE = "LINK";
    private static final int VERTICES_A_TRANSACTION = 50_000;
    /** How many edges and properties get their ids at once. */
    private static final int IDS_A_BLOCK = 10_000_000;

    private final StoreFolder folder;
    private StandardJanusGraph graph;
    private IDManager ids;
    private int vertices;

    JanusGraphEngine(Path folder) {
        super(EDGE);
        this.folder = new StoreFolder(folder.resolve("janusgraph"));
    }

    @Override
    public Map<String, String> settings() {
        Configuration options = graph.getConfiguration().getConfiguration();
        return Map.of(
                "version", JanusGraphConstants.VERSION + " on BerkeleyDB JE, TinkerPop " + Gremlin.version(),
                "ids", "graph.set-vertex-id: the vertices' numbers",
                "loading", "transactions for batch loading, ids.block-size " + IDS_A_BLOCK,
                "threads", "1: storage.parallel-backend-ops off",
                "cache.db-cache", options.get(GraphDatabaseConfiguration.DB_CACHE) + ", the default",
                "cache.tx-cache-size", options.get(GraphDatabaseConfiguration.TX_CACHE_SIZE) + " vertices, the default",
                "storage.berkeleyje.cache-percentage",
                        options.get(BerkeleyJEStoreManager.JVM_CACHE) + " % of the heap, the default",
                "transactions", "one a question",
                "bytes", "BerkeleyDB's files");
    }

    @Override
    public void create(int vertices) throws IOException {
        close();
        folder.delete();
        open();
        JanusGraphManagement schema = graph.openManagement();
        schema.makeVertexLabel(VERTEX).make();
        schema.makeEdgeLabel(EDGE).multiplicity(Multiplicity.MULTI).make();
        schema.makePropertyKey("degree").dataType(Long.class).cardinality(Cardinality.SINGLE).make();
        schema.commit();
        this.vertices = vertices;
        for (int from = 0; from < vertices; from += VERTICES_A_TRANSACTION) {
            try (JanusGraphTransaction transaction = loading()) {
                for (int vertex = from; vertex < Math.min(from + VERTICES_A_TRANSACTION, vertices); vertex++) {
                    transaction.addVertex(T.id, id(vertex), T.label, VERTEX);
                }
                transaction.commit();
            }
        }
    }

    private void open() {
        this.graph = (StandardJanusGraph) JanusGraphFactory.build()
                .set("storage.backend", "berkeleyje")
                .set("storage.directory", folder.path().toString())
                .set("schema.default", "none")
                .set("graph.set-vertex-id", true)
                .set("ids.block-size", IDS_A_BLOCK)
                .set("storage.parallel-backend-ops", false)
                .open();
        this.ids = graph.getIDManager();
    }

    /**
     * A transaction that checks and locks nothing. {@code storage.batch-loading} would make all of them so, but over
     * BerkeleyDB JanusGraph then refuses its own ("does not support non-transactional for multi threaded tx").
     */
    private JanusGraphTransaction loading() {
        return graph.buildTransaction().enableBatchLoading().start();
    }

    @Override
    public void insert(EdgeFile edges, int from, int to) {
        try (JanusGraphTransaction transaction = loading()) {
            insert(transaction, edges, from, to);
            transaction.commit();
        }
    }

    @Override
    Graph graph() {
        return graph;
    }

    @Override
    int vertices() {
        return vertices;
    }

    /** Its ids begin at one. */
    @Override
    Object id(int number) {
        return ids.toVertexId(number + 1L);
    }

    @Override
    int number(Vertex vertex) {
        return (int) (ids.fromVertexId((Long) vertex.id()) - 1);
    }

    @Override
    void commit() {
        graph.tx().commit();
    }

    @Override
    public long bytes() throws IOException {
        close();
        long sum = folder.bytes("");
        open();
        return sum;
    }

    @Override
    public void close() {
        if (graph != null) {
            graph.close();
            graph = null;
        }
    }
}
