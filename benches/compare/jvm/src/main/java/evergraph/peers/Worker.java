package evergraph.peers;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * A peer that works on request, as {@code evergraph_worker.py} does for us: {@code Worker ENGINE FOLDER}.
 *
 * <p>A request is a line of JSON on standard input, the reply a line on standard output: seconds, what the whole
 * process spent in them ({@code wall} and {@code cpu}), {@code said}, a number by which answers are compared, and
 * {@code rows}, those of a statement in Cypher for each of its sets of parameters; or {@code error}.
 * {@code FOLDER/edges.bin} has the edges, {@code FOLDER/asked.bin} the vertices of {@code neighbors}.
 */
final class Worker {
    private static final int ITERATIONS = 20;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** What is asked for; each kind of run has the fields that it needs. */
    record Request(String run, int vertices, int from, int to, int batch, int interval, int source, String answer,
            String text, List<Integer> starts, List<Map<String, Object>> sets) {}

    /** How much of everything a run took, in seconds. */
    record Spent(double wall, double cpu) {}

    private final Engine engine;
    private final EdgeFile edges;
    private final IntBuffer asked;
    /** The copy that the last request for one made. */
    private SparseRows copy;
    /** Who writes by itself; null while nobody does. */
    private Writer writer;

    private Worker(Engine engine, Path folder) throws IOException {
        this.engine = engine;
        this.edges = new EdgeFile(folder.resolve("edges.bin"));
        this.asked = EdgeFile.numbers(folder.resolve("asked.bin"));
    }

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        // What libraries print would break the replies: it goes to standard error. Both ends speak UTF-8, whatever the
        // locale says.
        PrintStream replies = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Path folder = Path.of(arguments[1]);
        ObjectMapper json = new ObjectMapper();
        try (Engine engine = Engine.named(arguments[0], folder);
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            Worker worker = new Worker(engine, folder);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                replies.println(json.writeValueAsString(worker.reply(json.readValue(line, Request.class))));
            }
        }
    }

    /** Carries out a request; what fails is said, and the next one is welcome. */
    private Map<String, Object> reply(Request request) {
        try {
            if (request.run().equals("settings")) {
                return Map.of("settings", engine.settings());
            }
            long began = System.nanoTime();
            long worked = SYSTEM.getProcessCpuTime();
            Object said = run(request);
            double seconds = (System.nanoTime() - began) / 1e9;
            Spent spent = new Spent(seconds, (SYSTEM.getProcessCpuTime() - worked) / 1e9);
            if (request.answer() != null) {
                save(Path.of(request.answer()), said);
            }
            return Map.of("seconds", seconds, "spent", spent, "repeated", engine.repeated(),
                    "said", said instanceof Long number ? number : 0,
                    "rows", said instanceof List<?> rows ? rows : List.of());
        } catch (IOException | RuntimeException | OutOfMemoryError | LinkageError error) {
            error.printStackTrace();
            return Map.of("error", error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }

    /** What the request's run gives: a number, one for each vertex, or rows for each set of parameters. */
    private Object run(Request request) throws IOException {
        return switch (request.run()) {
            case "create" -> {
                copy = null;
                engine.create(request.vertices());
                yield 0L;
            }
            case "insert" -> {
                for (int from = request.from(); from < request.to(); from += request.batch()) {
                    engine.insert(edges, from, Math.min(from + request.batch(), request.to()));
                }
                yield (long) request.to() - request.from();
            }
            case "write" -> {
                LongSupplier transaction =
                        request.text() == null ? inserts(request.batch()) : changes(request.text(), request.sets());
                writer = new Writer(transaction, request.interval());
                writer.start();
                yield 0L;
            }
            case "rest" -> writer.end();
            case "bytes" -> engine.bytes();
            case "neighbors" -> counted(this::neighborsSum);
            case "query" -> request.starts().stream().mapToLong(start -> engine.query(request.text(), start)).sum();
            case "rows" -> request.sets().stream().map(set -> engine.rows(request.text(), set)).toList();
            case "scan" -> counted(Worker::edgesSum);
            case "copy" -> {
                copy = null;
                copy = engine.read(SparseRows::of);
                yield 0L;
            }
            case "pagerank" -> engine.read(graph -> Kernels.pagerank(graph, ITERATIONS));
            case "bfs" -> engine.read(graph -> Kernels.bfs(graph, request.source()));
            case "sssp" -> engine.read(graph -> Kernels.sssp(graph, request.source()));
            case "wcc" -> engine.read(Kernels::wcc);
            case "pagerank of the copy" -> Kernels.pagerank(copy, ITERATIONS);
            case "bfs of the copy" -> Kernels.bfs(copy, request.source());
            case "wcc of the copy" -> Kernels.wcc(copy);
            case "own pagerank" -> {
                double[] scores = engine.ownPagerank(ITERATIONS);
                if (scores == null) {
                    throw new UnsupportedOperationException("the engine brings no PageRank");
                }
                yield scores;
            }
            default -> throw new IllegalArgumentException("no run " + request.run());
        };
    }

    /** Inserts the edges again from the first one on, so many a transaction: how many that were. */
    private LongSupplier inserts(int batch) {
        int[] from = {0};
        return () -> {
            engine.insert(edges, from[0], from[0] + batch);
            from[0] = from[0] + 2 * batch <= edges.count() ? from[0] + batch : 0;
            return batch;
        };
    }

    /** Runs a statement with one set of parameters after the other, again and again; it says how much it changed. */
    private LongSupplier changes(String text, List<Map<String, Object>> sets) {
        int[] next = {0};
        return () -> {
            List<List<Object>> rows = engine.rows(text, sets.get(next[0]));
            next[0] = (next[0] + 1) % sets.size();
            return ((Number) rows.get(0).get(0)).longValue();
        };
    }

    /** Runs a transaction each so many milliseconds, beside requests. */
    private static final class Writer extends Thread {
        private final LongSupplier transaction;
        private final int interval;
        private volatile boolean over;
        private volatile RuntimeException failure;
        private long written;

        Writer(LongSupplier transaction, int interval) {
            this.transaction = transaction;
            this.interval = interval;
        }

        @Override
        public void run() {
            long due = System.nanoTime();
            try {
                while (!over) {
                    written += transaction.getAsLong();
                    due += interval * 1_000_000L;
                    LockSupport.parkNanos(due - System.nanoTime());
                }
            } catch (RuntimeException error) {
                failure = error;
            }
        }

        /** Ends it; how much it inserted or changed. */
        long end() {
            over = true;
            try {
                join();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            if (failure != null) {
                throw failure;
            }
            return written;
        }
    }

    private Long counted(ToLongFunction<Adjacency> body) {
        return engine.read(body::applyAsLong);
    }

    /** The sum of all neighbours of the vertices asked for. */
    private long neighborsSum(Adjacency graph) {
        long[] sum = {0};
        for (int at = 0; at < asked.limit(); at++) {
            graph.out(asked.get(at), neighbor -> sum[0] += neighbor);
        }
        return sum[0];
    }

    /** The sum of the targets of all edges. */
    private static long edgesSum(Adjacency graph) {
        long[] sum = {0};
        graph.edges((source, target) -> sum[0] += target);
        return sum[0];
    }

    private static void save(Path path, Object said) throws IOException {
        if (said instanceof double[] scores) {
            EdgeFile.write(path, scores);
        } else if (said instanceof int[] numbers) {
            EdgeFile.write(path, numbers);
        }
    }
}
