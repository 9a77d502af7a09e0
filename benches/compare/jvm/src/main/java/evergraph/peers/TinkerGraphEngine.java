package evergraph.peers;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.commons.configuration2.BaseConfiguration;
import org.apache.tinkerpop.gremlin.process.computer.ComputerResult;
import org.apache.tinkerpop.gremlin.process.computer.GraphComputer;
import org.apache.tinkerpop.gremlin.process.computer.ranking.pagerank.PageRankVertexProgram;
import org.apache.tinkerpop.gremlin.structure.Graph;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;
import org.apache.tinkerpop.gremlin.util.Gremlin;

/** TinkerPop's reference implementation: objects on the heap, without transactions, without a disk. */
final class TinkerGraphEngine extends TinkerPopEngine {
    private TinkerGraph graph;
    private int vertices;

    /** It keeps nothing in {@code folder}, nor elsewhere. */
    TinkerGraphEngine(Path folder) {
        super("EDGE");
    }

    @Override
    public Map<String, String> settings() {
        return Map.of(
                "version", Gremlin.version(),
                "ids", "vertexIdManager and edgeIdManager LONG",
                "transactions", "none: TinkerGraph is neither transactional nor durable",
                "bytes", "objects on the heap that are in use after a collection");
    }

    @Override
    public void create(int vertices) {
        BaseConfiguration configuration = new BaseConfiguration();
        configuration.setProperty(TinkerGraph.GREMLIN_TINKERGRAPH_VERTEX_ID_MANAGER, "LONG");
        configuration.setProperty(TinkerGraph.GREMLIN_TINKERGRAPH_EDGE_ID_MANAGER, "LONG");
        this.graph = TinkerGraph.open(configuration);
        this.vertices = vertices;
        for (int vertex = 0; vertex < vertices; vertex++) {
            graph.addVertex(T.id, id(vertex), T.label, "Vertex");
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

    @Override
    Object id(int number) {
        return (long) number;
    }

    @Override
    int number(Vertex vertex) {
        return ((Long) vertex.id()).intValue();
    }

    /** GraphComputer's vertex program, on as many threads as there are processors, which is its default. */
    @Override
    public double[] ownPagerank(int iterations) {
        try {
            // An epsilon of zero: it ends after its iterations, not when scores stop changing.
            ComputerResult result = graph.compute()
                    .program(PageRankVertexProgram.build().alpha(0.85).epsilon(0).iterations(iterations).create(graph))
                    .persist(GraphComputer.Persist.VERTEX_PROPERTIES)
                    .result(GraphComputer.ResultGraph.NEW)
                    .submit()
                    .get();
            double[] scores = new double[vertices];
            result.graph().vertices().forEachRemaining(
                    vertex -> scores[number(vertex)] = vertex.value(PageRankVertexProgram.PAGE_RANK));
            return scores;
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException("run the PageRankVertexProgram: " + error.getMessage(), error);
        }
    }

    @Override
    public long bytes() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    @Override
    public void close() {
        graph = null;
    }
}
