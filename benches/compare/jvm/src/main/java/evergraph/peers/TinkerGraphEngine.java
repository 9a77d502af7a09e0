package evergraph.peers;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.IntConsumer;
import javax.script.Bindings;
import javax.script.ScriptException;
import javax.script.SimpleBindings;
import org.apache.commons.configuration2.BaseConfiguration;
import org.apache.tinkerpop.gremlin.jsr223.GremlinLangScriptEngine;
import org.apache.tinkerpop.gremlin.process.computer.ComputerResult;
import org.apache.tinkerpop.gremlin.process.computer.GraphComputer;
import org.apache.tinkerpop.gremlin.process.computer.ranking.pagerank.PageRankVertexProgram;
import org.apache.tinkerpop.gremlin.process.traversal.Traversal;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;
import org.apache.tinkerpop.gremlin.util.Gremlin;

/** TinkerPop's reference implementation: objects on the heap, without transactions, without a disk. */
final class TinkerGraphEngine implements Engine {
    private static final String EDGE = "EDGE";
    private final GremlinLangScriptEngine language = new GremlinLangScriptEngine();
    private TinkerGraph graph;
    private int vertices;

    /** It keeps nothing in {@code folder}, nor elsewhere. */
    TinkerGraphEngine(Path folder) {}

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
        for (long vertex = 0; vertex < vertices; vertex++) {
            graph.addVertex(T.id, vertex, T.label, "Vertex");
        }
    }

    @Override
    public void insert(EdgeFile edges, int from, int to) {
        for (int edge = from; edge < to; edge++) {
            vertex(edges.source(edge)).addEdge(EDGE, vertex(edges.target(edge)));
        }
    }

    private Vertex vertex(long id) {
        return graph.vertices(id).next();
    }

    private static int id(Vertex vertex) {
        return ((Long) vertex.id()).intValue();
    }

    @Override
    public <T> T read(Function<Adjacency, T> body) {
        return body.apply(new Store());
    }

    private final class Store implements Adjacency {
        @Override
        public int vertices() {
            return vertices;
        }

        @Override
        public int outDegree(int vertex) {
            int degree = 0;
            for (Iterator<Edge> edges = vertex(vertex).edges(Direction.OUT, EDGE); edges.hasNext(); edges.next()) {
                degree++;
            }
            return degree;
        }

        @Override
        public void out(int vertex, IntConsumer target) {
            vertex(vertex).edges(Direction.OUT, EDGE).forEachRemaining(edge -> target.accept(id(edge.inVertex())));
        }

        @Override
        public void in(int vertex, IntConsumer source) {
            vertex(vertex).edges(Direction.IN, EDGE).forEachRemaining(edge -> source.accept(id(edge.outVertex())));
        }

        @Override
        public void edges(EdgeConsumer consumer) {
            graph.edges().forEachRemaining(edge -> consumer.accept(id(edge.outVertex()), id(edge.inVertex())));
        }
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
                    vertex -> scores[id(vertex)] = vertex.value(PageRankVertexProgram.PAGE_RANK));
            return scores;
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException("run the PageRankVertexProgram: " + error.getMessage(), error);
        }
    }

    /** A text in Gremlin, read by TinkerPop's own parser of the language. */
    @Override
    public long query(String text, int start) {
        try {
            Bindings bindings = new SimpleBindings(Map.of("g", graph.traversal(), "start", (long) start));
            return ((Number) ((Traversal<?, ?>) language.eval(text, bindings)).next()).longValue();
        } catch (ScriptException error) {
            throw new IllegalArgumentException(text + ": " + error.getMessage(), error);
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
