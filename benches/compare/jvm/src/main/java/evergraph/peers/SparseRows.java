package evergraph.peers;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Compressed sparse rows of both directions, copied from another graph: what one makes of a store before a library
 * computes on it.
 */
final class SparseRows implements Adjacency {
    private final Rows out;
    private final Rows in;

    private SparseRows(Rows out, Rows in) {
        this.out = out;
        this.in = in;
    }

    /** Copies {@code graph}: one pass over its edges into a list, and from there by counting into rows. */
    static SparseRows of(Adjacency graph) {
        EdgeList list = new EdgeList();
        graph.edges(list::add);
        return new SparseRows(
                Rows.of(graph.vertices(), list.sources, list.targets, list.length),
                Rows.of(graph.vertices(), list.targets, list.sources, list.length));
    }

    @Override
    public int vertices() {
        return out.offsets.length - 1;
    }

    @Override
    public int outDegree(int vertex) {
        return out.offsets[vertex + 1] - out.offsets[vertex];
    }

    @Override
    public void out(int vertex, IntConsumer target) {
        out.row(vertex, target);
    }

    @Override
    public void in(int vertex, IntConsumer source) {
        in.row(vertex, source);
    }

    @Override
    public void edges(EdgeConsumer edge) {
        for (int vertex = 0; vertex < vertices(); vertex++) {
            for (int at = out.offsets[vertex]; at < out.offsets[vertex + 1]; at++) {
                edge.accept(vertex, out.ends[at]);
            }
        }
    }

    /** The rows of one direction: those of {@code vertex} lie from offset {@code vertex} to the next. */
    private record Rows(int[] offsets, int[] ends) {
        static Rows of(int vertices, int[] from, int[] to, int length) {
            int[] next = new int[vertices + 1];
            for (int at = 0; at < length; at++) {
                next[from[at]]++;
            }
            int[] offsets = new int[vertices + 1];
            for (int vertex = 0; vertex < vertices; vertex++) {
                offsets[vertex + 1] = offsets[vertex] + next[vertex];
                next[vertex] = offsets[vertex];
            }
            int[] ends = new int[length];
            for (int at = 0; at < length; at++) {
                ends[next[from[at]]++] = to[at];
            }
            return new Rows(offsets, ends);
        }

        void row(int vertex, IntConsumer end) {
            for (int at = offsets[vertex]; at < offsets[vertex + 1]; at++) {
                end.accept(ends[at]);
            }
        }
    }

    /** Edges as they come. */
    private static final class EdgeList {
        private int[] sources = new int[1 << 20];
        private int[] targets = new int[1 << 20];
        private int length;

        void add(int source, int target) {
            if (length == sources.length) {
                sources = Arrays.copyOf(sources, 2 * length);
                targets = Arrays.copyOf(targets, 2 * length);
            }
            sources[length] = source;
            targets[length++] = target;
        }
    }
}
