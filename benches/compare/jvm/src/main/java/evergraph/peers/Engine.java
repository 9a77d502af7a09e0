package evergraph.peers;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A peer: a graph of one label and one edge type without properties, kept as its documentation advises. */
interface Engine extends AutoCloseable {
    /** Its version, and what was set. */
    Map<String, String> settings();

    /** Makes a new graph of {@code vertices} vertices and no edge, in place of the last one. */
    void create(int vertices) throws IOException;

    /** Adds the edges {@code from} to {@code to} of the list; in one transaction, if the engine has any. */
    void insert(EdgeFile edges, int from, int to);

    /** Lets {@code body} read the graph as it is now. */
    <T> T read(Function<Adjacency, T> body);

    /** How often a transaction failed because of others, so far, and was begun again as the engine's error asks. */
    default long repeated() {
        return 0;
    }

    /** How many bytes the graph takes now: what that counts stands in the settings. */
    long bytes() throws IOException;

    /** PageRank by what the engine brings for it; null if it brings nothing. */
    default double[] ownPagerank(int iterations) {
        return null;
    }

    /** The whole number that a query gives; {@code start} is the vertex that it begins at, if its text names one. */
    long query(String text, int start);

    /** The rows of a statement in Cypher, each a value a column; it may write, in a transaction of its own. */
    default List<List<Object>> rows(String text, Map<String, Object> parameters) {
        throw new UnsupportedOperationException("the engine has no Cypher");
    }

    @Override
    void close();

    /** The engine of this class: only one of them is in a build. */
    static Engine named(String name, Path folder) throws ReflectiveOperationException {
        return (Engine) Class.forName("evergraph.peers." + name).getDeclaredConstructor(Path.class).newInstance(folder);
    }
}
