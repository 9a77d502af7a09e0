// Records what Java's driver 3.8 sends and its server answers, and checks that it reads what Evergraph's encoder writes.
//
//     mvn dependency:copy-dependencies -DoutputDirectory=lib    # of gremlin-driver and tinkergraph-gremlin 3.8.1
//     java --add-opens java.base/java.nio=ALL-UNNAMED -cp 'lib/*' RecordJava.java crates/protocol/tests/drivers
//
// Files are as in record_python.py: java_requests.txt, java_results.txt (what Java reads in frames.txt), and
// java_responses.txt (what its server would send).

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.Period;
import java.util.*;
import org.apache.tinkerpop.gremlin.process.remote.traversal.DefaultRemoteTraverser;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.Traverser;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.process.traversal.step.util.Tree;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.Element;
import org.apache.tinkerpop.gremlin.structure.Graph;
import org.apache.tinkerpop.gremlin.structure.Property;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.structure.VertexProperty;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerFactory;
import org.apache.tinkerpop.gremlin.util.MessageSerializer;
import org.apache.tinkerpop.gremlin.util.message.RequestMessage;
import org.apache.tinkerpop.gremlin.util.message.ResponseMessage;
import org.apache.tinkerpop.gremlin.util.message.ResponseStatusCode;
import org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1;
import org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3;

public class RecordJava {
    static final UUID ID = UUID.fromString("41d2e28a-20a4-4ab0-b379-d810dede3786");

    static MessageSerializer<?> serializer(String format) {
        MessageSerializer<?> made =
            format.equals("graphbinary") ? new GraphBinaryMessageSerializerV1() : new GraphSONMessageSerializerV3();
        // As servers with TinkerGraph are set up.
        var registry = List.of("org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerIoRegistryV3");
        made.configure(Map.of("ioRegistries", registry), Map.of());
        return made;
    }

    static String hexadecimal(ByteBuf bytes) {
        return ByteBufUtil.hexDump(bytes);
    }

    static String plain(Object value) {
        if (value instanceof Traverser<?> traverser) return traverser.bulk() + " x " + plain(traverser.get());
        if (value instanceof VertexProperty<?> property)
            return "VertexProperty(" + plain(property.id()) + ", " + property.key() + ", " + plain(property.value())
                + ", " + properties(property) + ")";
        if (value instanceof Property<?> property) return "Property(" + property.key() + ", " + plain(property.value()) + ")";
        if (value instanceof Vertex vertex)
            return "Vertex(" + plain(vertex.id()) + ", " + vertex.label() + ", " + properties(vertex) + ")";
        if (value instanceof Edge edge)
            return "Edge(" + plain(edge.id()) + ", " + edge.label() + ", " + plain(edge.outVertex()) + " -> "
                + plain(edge.inVertex()) + ", " + properties(edge) + ")";
        if (value instanceof org.apache.tinkerpop.gremlin.process.traversal.Path path)
            return "Path(" + path.labels() + ", " + plain(path.objects()) + ")";
        if (value instanceof Tree<?> tree) {
            List<String> found = new ArrayList<>();
            tree.forEach((key, below) -> found.add(plain(key) + ": " + plain(below)));
            Collections.sort(found);
            return "Tree" + found;
        }
        if (value instanceof Map<?, ?> map) {
            List<String> found = new ArrayList<>();
            map.forEach((key, of) -> found.add(plain(key) + ": " + plain(of)));
            return found.toString();
        }
        if (value instanceof Collection<?> all) {
            List<String> found = new ArrayList<>();
            all.forEach(one -> found.add(plain(one)));
            if (value instanceof Set<?>) Collections.sort(found);
            return (value instanceof Set<?> ? "Set" : "") + found;
        }
        if (value instanceof Graph graph) {
            List<String> found = new ArrayList<>();
            graph.vertices().forEachRemaining(vertex -> found.add(plain(vertex)));
            graph.edges().forEachRemaining(edge -> found.add(plain(edge)));
            return "Graph" + found;
        }
        if (value instanceof java.nio.ByteBuffer bytes) return "ByteBuffer(" + ByteBufUtil.hexDump(Unpooled.wrappedBuffer(bytes)) + ")";
        if (value == null || value instanceof String) return value == null ? "null" : "\"" + value.toString().replace("\n", "\\n") + "\"";
        return value.getClass().getSimpleName() + "(" + value + ")";
    }

    static String properties(Element element) {
        List<String> found = new ArrayList<>();
        element.properties().forEachRemaining(property -> found.add(plain(property)));
        Collections.sort(found);
        return found.toString();
    }

    static void write(Path folder, String name, List<String> lines) throws Exception {
        String version = org.apache.tinkerpop.gremlin.util.Gremlin.version();
        lines.add(0, "# Made by RecordJava.java with TinkerPop " + version + ".");
        Files.writeString(folder.resolve(name), String.join("\n", lines) + "\n");
    }

    static LinkedHashMap<String, RequestMessage> requests(GraphTraversalSource g) {
        var aliases = Map.of("g", "social");
        var session = "a9f6b1f4-1d8c-4f8f-8d0e-2c1f0f7f1a55";
        var found = new LinkedHashMap<String, RequestMessage>();
        found.put("a traversal", RequestMessage.build("bytecode").processor("traversal").overrideRequestId(ID)
            .add("gremlin", g.V().has("person", "age", P.gt(30)).where(__.out("knows")).values("name").asAdmin().getBytecode())
            .add("aliases", aliases).add("evaluationTimeout", 500L).add("batchSize", 10)
            .add("materializeProperties", "tokens").add("userAgent", "a test").create());
        var values = g.inject(1, -2L, (short) 3, (byte) 4, 0.5f, 1.5d, "é", 'x', true, null, ID, new BigDecimal("12.50"),
            new BigInteger("12345678901234567890"), OffsetDateTime.parse("2024-02-29T12:30:15.5+01:00"), Duration.ofSeconds(5));
        found.put("values", RequestMessage.build("bytecode").processor("traversal").overrideRequestId(ID)
            .add("gremlin", values.asAdmin().getBytecode()).add("aliases", aliases).create());
        var bindings = new LinkedHashMap<String, Object>();
        bindings.put("age", 30);
        bindings.put("names", List.of("ann", "bob"));
        found.put("a text", RequestMessage.build("eval").overrideRequestId(ID).add("gremlin", "g.V().has('age', gt(age))")
            .add("bindings", bindings).add("language", "gremlin-lang").add("aliases", aliases).add("batchSize", 64).create());
        found.put("in a session", RequestMessage.build("bytecode").processor("session").overrideRequestId(ID)
            .add("gremlin", g.addV("person").asAdmin().getBytecode()).add("aliases", aliases).add("session", session)
            .add("manageTransaction", false).add("maintainStateAfterException", false).create());
        found.put("commit", RequestMessage.build("bytecode").processor("session").overrideRequestId(ID)
            .add("gremlin", commit())
            .add("aliases", aliases).add("session", session).create());
        found.put("close", RequestMessage.build("close").processor("session").overrideRequestId(ID)
            .add("session", session).add("force", false).create());
        found.put("a log-in", RequestMessage.build("authentication").overrideRequestId(ID)
            .add("saslMechanism", "PLAIN").add("sasl", Base64.getEncoder().encodeToString("\0stephen\0secret".getBytes())).create());
        return found;
    }

    static Object commit() {
        var bytecode = new org.apache.tinkerpop.gremlin.process.traversal.Bytecode();
        bytecode.addSource("tx", "commit");
        return bytecode;
    }

    static LinkedHashMap<String, Object> responses(GraphTraversalSource g) {
        var found = new LinkedHashMap<String, Object>();
        found.put("numbers", Arrays.asList(1, -2L, (short) 3, (byte) 4, 0.5f, 1.5d, new BigDecimal("12.50"), new BigInteger("12345678901234567890")));
        found.put("others", Arrays.asList("é", 'x', true, null, ID, OffsetDateTime.parse("2024-02-29T12:30:15.5+01:00"),
            Duration.ofMillis(5500), LocalDate.parse("2024-02-29"), Period.parse("P1Y2M3D"), java.nio.ByteBuffer.wrap(new byte[] {0, -1})));
        found.put("collections", Arrays.asList(List.of(1, List.of()), new LinkedHashSet<>(List.of("a", "b")),
            Collections.singletonMap(T.id, 17L), new AbstractMap.SimpleEntry<>("key", 1)));
        found.put("elements", g.V(1).toList());
        found.put("an edge", g.E(7).toList());
        found.put("properties", Arrays.asList(g.V(1).properties("name").next(), g.E(7).properties("weight").next()));
        found.put("a path", g.V(1).as("a").outE("knows").as("b").inV().has("name", "josh").path().toList());
        found.put("a tree", g.V(1).out("created").tree().toList());
        found.put("a graph", g.V(3).inE().has("weight", 0.2d).subgraph("x").cap("x").toList());
        found.put("words", Arrays.asList(T.label, Direction.IN));
        found.put("traversers", Arrays.asList(new DefaultRemoteTraverser<>("a", 3), new DefaultRemoteTraverser<>(g.V(3).next(), 2)));
        found.put("nothing", null);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        GraphTraversalSource g = TinkerFactory.createModern().traversal();
        List<String> requests = new ArrayList<>(), results = new ArrayList<>(), responses = new ArrayList<>();
        for (String format : List.of("graphbinary", "graphson")) {
            MessageSerializer<?> serializer = serializer(format);
            for (var request : requests(g).entrySet()) {
                ByteBuf bytes = serializer.serializeRequestAsBinary(request.getValue(), ByteBufAllocator.DEFAULT);
                requests.add(request.getKey() + "\t" + format + "\t" + hexadecimal(bytes));
            }
            for (var data : responses(g).entrySet()) {
                ResponseMessage message = ResponseMessage.build(ID).code(ResponseStatusCode.SUCCESS).result(data.getValue()).create();
                try {
                    ByteBuf bytes = serializer.serializeResponseAsBinary(message, ByteBufAllocator.DEFAULT);
                    responses.add(data.getKey() + "\t" + format + "\t" + hexadecimal(bytes));
                } catch (Exception error) {
                    System.err.println(data.getKey() + ", " + format + ": " + error);
                }
            }
        }
        for (String line : Files.readAllLines(folder.resolve("frames.txt"))) {
            if (line.startsWith("#")) continue;
            String[] fields = line.split("\t");
            String found;
            try {
                ByteBuf bytes = Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(fields[2]));
                ResponseMessage message = serializer(fields[1]).deserializeResponse(bytes);
                if (!message.getRequestId().equals(ID)) throw new IllegalStateException("another id");
                var status = message.getStatus();
                String text = status.getMessage() == null ? "" : status.getMessage();
                found = status.getCode().getValue() + " \"" + text + "\" " + plain(status.getAttributes()) + " "
                    + plain(message.getResult().getData());
            } catch (Exception error) {
                Throwable cause = error;
                while (cause.getCause() != null) cause = cause.getCause();
                found = "refused: " + cause.toString().replaceAll("\\s+", " ");
            }
            results.add(fields[0] + "\t" + fields[1] + "\t" + found);
        }
        write(folder, "java_requests.txt", requests);
        write(folder, "java_responses.txt", responses);
        write(folder, "java_results.txt", results);
    }
}
