package evergraph.peers;

import java.util.function.IntConsumer;

/** A directed graph of vertices 0, 1, ..., as kernels read it: from an engine's own store, or from arrays. */
interface Adjacency {
    /** How many vertices there are. */
    int vertices();

    /** How many edges leave {@code vertex}. */
    int outDegree(int vertex);

    /** Gives where each edge that leaves {@code vertex} leads, in any order, parallel ones too. */
    void out(int vertex, IntConsumer target);

    /** Gives where each edge that reaches {@code vertex} comes from. */
    void in(int vertex, IntConsumer source);

    /** Gives every edge once, in the order that is the quickest. */
    void edges(EdgeConsumer edge);

    /** What takes an edge. */
    @FunctionalInterface
    interface EdgeConsumer {
        void accept(int source, int target);
    }
}
