package evergraph.peers;

import java.util.Iterator;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntConsumer;
import javax.script.Bindings;
import javax.script.ScriptException;
import javax.script.SimpleBindings;
import org.apache.tinkerpop.gremlin.jsr223.GremlinLangScriptEngine;
import org.apache.tinkerpop.gremlin.process.traversal.Traversal;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.Graph;
import org.apache.tinkerpop.gremlin.structure.Vertex;

/** A peer that is a {@link Graph} of TinkerPop: filled and read by its interface, asked in Gremlin. */
abstract class TinkerPopEngine implements Engine {
    private final GremlinLangScriptEngine language = new GremlinLangScriptEngine();
    private final String edgeLabel;

    TinkerPopEngine(String edgeLabel) {
        this.edgeLabel = edgeLabel;
    }

    /** The graph that {@link #create} made. */
    abstract Graph graph();

    abstract int vertices();

    /** What the graph calls the vertex of this number. */
    abstract Object id(int number);

    /** The number of this vertex. */
    abstract int number(Vertex vertex);

    /** Ends the transaction that the last calls began, if the graph has any. */
    void commit() {}

    @Override
    public void insert(EdgeFile edges, int from, int to) {
        insert(graph(), edges, from, to);
    }

    /** The same, by this transaction, if the graph has any. */
    final void insert(Graph writer, EdgeFile edges, int from, int to) {
        for (int edge = from; edge < to; edge++) {
            Vertex target = writer.vertices(id(edges.target(edge))).next();
            writer.vertices(id(edges.source(edge))).next().addEdge(edgeLabel, target);
        }
    }

    private Vertex vertex(int number) {
        return graph().vertices(id(number)).next();
    }

    @Override
    public <T> T read(Function<Adjacency, T> body) {
        T read = body.apply(new Store());
        commit();
        return read;
    }

    private final class Store implements Adjacency {
        @Override
        public int vertices() {
            return TinkerPopEngine.this.vertices();
        }

        @Override
        public int outDegree(int vertex) {
            int degree = 0;
            Iterator<Edge> edges = vertex(vertex).edges(Direction.OUT, edgeLabel);
            for (; edges.hasNext(); edges.next()) {
                degree++;
            }
            return degree;
        }

        @Override
        public void out(int vertex, IntConsumer target) {
            vertex(vertex).edges(Direction.OUT, edgeLabel)
                    .forEachRemaining(edge -> target.accept(number(edge.inVertex())));
        }

        @Override
        public void in(int vertex, IntConsumer source) {
            vertex(vertex).edges(Direction.IN, edgeLabel)
                    .forEachRemaining(edge -> source.accept(number(edge.outVertex())));
        }

        @Override
        public void edges(EdgeConsumer consumer) {
            graph().edges().forEachRemaining(
                    edge -> consumer.accept(number(edge.outVertex()), number(edge.inVertex())));
        }
    }

    /** A text in Gremlin, read by TinkerPop's own parser of the language; in a transaction of its own. */
    @Override
    public long query(String text, int start) {
        try {
            Bindings bindings = new SimpleBindings(Map.of("g", graph().traversal(), "start", id(start)));
            long said = ((Number) ((Traversal<?, ?>) language.eval(text, bindings)).next()).longValue();
            commit();
            return said;
        } catch (ScriptException error) {
            throw new IllegalArgumentException(text + ": " + error.getMessage(), error);
        }
    }
}
