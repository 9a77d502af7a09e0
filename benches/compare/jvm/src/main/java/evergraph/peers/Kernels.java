package evergraph.peers;

import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.IntConsumer;

/** Algorithms in plain Java, of one thread, for engines that bring none: written once for every {@link Adjacency}. */
final class Kernels {
    private static final double DAMPING = 0.85;
    /** What every edge weighs: none has a property. */
    private static final double WEIGHT = 1;

    private Kernels() {}

    /**
     * PageRank by pull, as ours is; the rank of vertices without out-edges is shared by all.
     *
     * @return a score for each vertex; their sum is 1
     */
    static double[] pagerank(Adjacency graph, int iterations) {
        int vertices = graph.vertices();
        int[] degrees = new int[vertices];
        for (int vertex = 0; vertex < vertices; vertex++) {
            degrees[vertex] = graph.outDegree(vertex);
        }
        double[] scores = new double[vertices];
        double[] shares = new double[vertices];
        Arrays.fill(scores, 1.0 / vertices);
        Sum sum = new Sum(shares);
        for (int round = 0; round < iterations; round++) {
            double dangling = 0;
            for (int vertex = 0; vertex < vertices; vertex++) {
                if (degrees[vertex] == 0) {
                    dangling += scores[vertex];
                } else {
                    shares[vertex] = scores[vertex] / degrees[vertex];
                }
            }
            double base = (1 - DAMPING + DAMPING * dangling) / vertices;
            for (int vertex = 0; vertex < vertices; vertex++) {
                sum.value = 0;
                graph.in(vertex, sum);
                scores[vertex] = base + DAMPING * sum.value;
            }
        }
        return scores;
    }

    /** Adds up what the vertices have that it is given. */
    private static final class Sum implements IntConsumer {
        private final double[] of;
        private double value;

        Sum(double[] of) {
            this.of = of;
        }

        @Override
        public void accept(int vertex) {
            value += of[vertex];
        }
    }

    /** @return how many edges each vertex is away from {@code source}, along edges; -1 where no path leads */
    static int[] bfs(Adjacency graph, int source) {
        int[] levels = new int[graph.vertices()];
        Arrays.fill(levels, -1);
        Queue queue = new Queue(levels);
        levels[source] = 0;
        queue.reached[queue.length++] = source;
        for (int at = 0; at < queue.length; at++) {
            int vertex = queue.reached[at];
            queue.level = levels[vertex] + 1;
            graph.out(vertex, queue);
        }
        return levels;
    }

    /** The vertices that a search reached, in its order; takes more. */
    private static final class Queue implements IntConsumer {
        private final int[] levels;
        private final int[] reached;
        private int length;
        private int level;

        Queue(int[] levels) {
            this.levels = levels;
            this.reached = new int[levels.length];
        }

        @Override
        public void accept(int vertex) {
            if (levels[vertex] < 0) {
                levels[vertex] = level;
                reached[length++] = vertex;
            }
        }
    }

    /**
     * Dijkstra's algorithm on a binary heap. Entries are never moved: a vertex that came nearer has another one, and
     * those before it are stale.
     *
     * @return the weight of the shortest path from {@code source} to each vertex; infinite where no path leads
     */
    static double[] sssp(Adjacency graph, int source) {
        double[] distances = new double[graph.vertices()];
        Arrays.fill(distances, Double.POSITIVE_INFINITY);
        distances[source] = 0;
        PriorityQueue<Reached> queue = new PriorityQueue<>(Comparator.comparingDouble(Reached::distance));
        queue.add(new Reached(source, 0));
        while (!queue.isEmpty()) {
            Reached nearest = queue.remove();
            if (nearest.distance() > distances[nearest.vertex()]) {
                continue;
            }
            double distance = nearest.distance() + WEIGHT;
            graph.out(nearest.vertex(), target -> {
                if (distance < distances[target]) {
                    distances[target] = distance;
                    queue.add(new Reached(target, distance));
                }
            });
        }
        return distances;
    }

    /** A vertex with the weight of the path by which a search reached it. */
    private record Reached(int vertex, double distance) {}

    /** @return of each vertex the lowest one of its component: union and find, in one pass over the edges */
    static int[] wcc(Adjacency graph) {
        int[] parents = new int[graph.vertices()];
        for (int vertex = 0; vertex < parents.length; vertex++) {
            parents[vertex] = vertex;
        }
        graph.edges((source, target) -> {
            int one = root(parents, source);
            int other = root(parents, target);
            parents[Math.max(one, other)] = Math.min(one, other);
        });
        for (int vertex = 0; vertex < parents.length; vertex++) {
            parents[vertex] = root(parents, vertex);
        }
        return parents;
    }

    /** The root above {@code vertex}; halves the way to it. */
    private static int root(int[] parents, int vertex) {
        while (parents[vertex] != vertex) {
            parents[vertex] = parents[parents[vertex]];
            vertex = parents[vertex];
        }
        return vertex;
    }
}
