package evergraph.oracle;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.script.ScriptException;
import javax.script.SimpleBindings;
import org.apache.commons.configuration2.BaseConfiguration;
import org.apache.tinkerpop.gremlin.jsr223.GremlinLangScriptEngine;
import org.apache.tinkerpop.gremlin.process.traversal.Path;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.Property;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;

/**
 * Answers traversals on TinkerGraph, as {@code differential.py} asks them.
 *
 * <p>A request is a line of JSON on standard input: a graph (vertices with id, label and properties; edges with ends, by
 * the vertices' places), texts in Gremlin, and how many results of each are looked at. The reply is a line with an entry a text: the results in the spelling of {@link #shown}, or the error.
 */
final class Oracle {
    private static final GremlinLangScriptEngine LANGUAGE = new GremlinLangScriptEngine();

    record Item(Object id, String label, Map<String, Object> properties, int from, int to) {}

    record Request(List<Item> vertices, List<Item> edges, List<String> texts, int most) {}

    record Answer(List<String> results, String error) {}

    private Oracle() {}

    public static void main(String[] arguments) throws IOException {
        // What libraries print would break the replies: it goes to standard error.
        PrintStream replies = System.out;
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        try (BufferedReader requests = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                Request request = json.readValue(line, Request.class);
                List<Answer> answers = new ArrayList<>();
                for (String text : request.texts()) {
                    answers.add(answer(graph(request), text, request.most()));
                }
                replies.println(json.writeValueAsString(answers));
            }
        }
    }

    /** A new graph for each text: some of them write. */
    private static TinkerGraph graph(Request request) {
        BaseConfiguration configuration = new BaseConfiguration();
        configuration.setProperty(TinkerGraph.GREMLIN_TINKERGRAPH_VERTEX_ID_MANAGER, "LONG");
        configuration.setProperty(TinkerGraph.GREMLIN_TINKERGRAPH_EDGE_ID_MANAGER, "ANY");
        TinkerGraph graph = TinkerGraph.open(configuration);
        List<Vertex> vertices = new ArrayList<>();
        for (Item item : request.vertices()) {
            Vertex vertex = graph.addVertex(T.id, ((Number) item.id()).longValue(), T.label, item.label());
            item.properties().forEach(vertex::property);
            vertices.add(vertex);
        }
        for (Item item : request.edges()) {
            Edge edge = vertices.get(item.from()).addEdge(item.label(), vertices.get(item.to()), T.id, item.id());
            item.properties().forEach(edge::property);
        }
        return graph;
    }

    private static Answer answer(TinkerGraph graph, String text, int most) {
        try {
            Iterator<?> found = (Iterator<?>) LANGUAGE.eval(text, new SimpleBindings(Map.of("g", graph.traversal())));
            List<String> results = new ArrayList<>();
            while (found.hasNext() && results.size() <= most) {
                results.add(shown(found.next()));
            }
            return new Answer(results, null);
        } catch (ScriptException | RuntimeException | StackOverflowError error) {
            return new Answer(null, error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }

    /** Without the widths of numbers, which Python doesn't have; a vertex by its number, an edge by its property `e`. */
    private static String shown(Object thing) {
        if (thing instanceof Vertex vertex) {
            return "v" + vertex.id();
        }
        if (thing instanceof Edge edge) {
            return "e" + edge.property("e").orElse("?");
        }
        if (thing instanceof Property<?> property) {
            return "p(" + property.key() + ", " + shown(property.value()) + ")";
        }
        if (thing instanceof Path path) {
            return "path" + list(path.objects());
        }
        if (thing instanceof Map.Entry<?, ?> entry) {
            return "(" + key(entry.getKey()) + ", " + value(entry.getValue()) + ")";
        }
        if (thing instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(Oracle::shown).sorted().collect(Collectors.joining(", ", "{", "}"));
        }
        if (thing instanceof Set<?> set) {
            return set.stream().map(Oracle::key).sorted().collect(Collectors.joining(", ", "set{", "}"));
        }
        if (thing instanceof Collection<?> items) {
            return list(items);
        }
        if (thing instanceof Direction direction) {
            return "'" + direction.name() + "'";
        }
        if (thing instanceof T token) {
            return "'" + token.name() + "'";
        }
        if (thing instanceof Double || thing instanceof Float) {
            return "d" + Double.toString(((Number) thing).doubleValue());
        }
        return thing instanceof String text ? "'" + text + "'" : String.valueOf(thing);
    }

    /** A key of a map, an item of a set: Python has tuples where collections are here, in any order. */
    private static String key(Object thing) {
        if (thing instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(Oracle::entry).sorted().collect(Collectors.joining(", ", "(", ")"));
        }
        if (thing instanceof Collection<?> items && !(thing instanceof Set<?>)) {
            return items.stream().map(Oracle::key).sorted().collect(Collectors.joining(", ", "(", ")"));
        }
        return shown(thing);
    }

    /** A value of a map: lists there were gathered in any order. */
    private static String value(Object thing) {
        if (thing instanceof List<?> items) {
            return items.stream().map(Oracle::shown).sorted().collect(Collectors.joining(", ", "[", "]"));
        }
        return shown(thing);
    }

    private static String entry(Map.Entry<?, ?> entry) {
        String[] both = {key(entry.getKey()), key(entry.getValue())};
        Arrays.sort(both);
        return "(" + String.join(", ", both) + ")";
    }

    private static String list(Collection<?> items) {
        return items.stream().map(Oracle::shown).collect(Collectors.joining(", ", "[", "]"));
    }
}
