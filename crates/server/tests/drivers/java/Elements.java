// Vertices, edges, their properties, paths, trees, maps of them, and bulk.

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.Property;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.structure.VertexProperty;
import org.apache.tinkerpop.gremlin.util.iterator.IteratorUtils;

final class Elements extends Support {
    static final List<Named<Context>> CHECKS = List.of(
        new Named<>("vertices and edges", Elements::verticesAndEdges),
        new Named<>("properties of elements", Elements::properties),
        new Named<>("paths and trees", Elements::pathsAndTrees),
        new Named<>("maps and predicates", Elements::mapsAndPredicates),
        new Named<>("bulk", Elements::bulk));

    record People(Vertex ann, Vertex bob, Edge edge) {}

    /** Ann, Bob, and that Ann knows Bob, of a graph that has nothing else. */
    static People people(GraphTraversalSource g) {
        clear(g);
        Vertex ann = g.addV("person").property("name", "ann").property("age", 41).next();
        Vertex bob = g.addV("person").property("name", "bob").next();
        return new People(ann, bob, g.V(ann.id()).addE("knows").to(bob).property("since", 1833).next());
    }

    static void verticesAndEdges(Context context) throws Exception {
        var g = context.g();
        People people = people(g);
        Edge edge = people.edge;
        for (Vertex vertex : List.of(people.ann, g.V(people.bob).next(), edge.inVertex())) same(vertex.label(), "person");
        same(List.of(edge.outVertex(), edge.label(), edge.inVertex()), List.of(people.ann, "knows", people.bob));
        same(g.E(edge).next(), edge);
        same(g.E(edge.id()).next(), edge);
        same(g.V(people.ann).outE().next(), edge);
        same(g.E(edge).next().<Object>value("since"), 1833);
        Vertex found = g.V(people.ann).next();
        same(List.of(found.<Object>value("name"), found.<Object>value("age")), List.of("ann", 41));
        Set<Object> ids = IteratorUtils.set(IteratorUtils.map(found.properties(), property -> property.id()));
        same(ids.size(), 2);
        that(!g.with("materializeProperties", "tokens").V(people.ann).next().properties().hasNext(), "no properties");
        for (Object x : List.of(people.ann, people.ann.id()))
            same(askAll(context.client(), "g.V(x).values('name')", x), List.of("ann"));
    }

    static void properties(Context context) {
        var g = context.g();
        People people = people(g);
        for (String nick : List.of("x", "y"))
            g.V(people.ann).property(VertexProperty.Cardinality.list, "nick", nick).iterate();
        List<? extends Property<Object>> found = g.V(people.ann).properties("nick").toList();
        same(found.stream().map(one -> one.key() + one.value()).toList(), List.of("nickx", "nicky"));
        VertexProperty<?> first = (VertexProperty<?>) found.get(0);
        that(!first.id().equals(((VertexProperty<?>) found.get(1)).id()), found);
        Property<?> since = g.E(people.edge).properties().next();
        same(List.of(since.key(), since.value()), List.of("since", 1833));
    }

    static void pathsAndTrees(Context context) {
        var g = context.g();
        People people = people(g);
        var path = g.V(people.ann).as("a").outE("knows").as("b", "c").inV().values("name").path().next();
        same(path.objects(), List.of(people.ann, people.edge, people.bob, "bob"));
        same(path.labels(), List.of(Set.of("a"), Set.of("b", "c"), Set.of(), Set.of()));
        same(g.V(people.ann).out().path().by("name").by(T.label).next().objects(), List.of("ann", "person"));
        var tree = g.V(people.ann).out().tree().next();
        same(tree.keySet(), Set.of(people.ann));
        same(((Map<?, ?>) tree.get(people.ann)).keySet(), Set.of(people.bob));
        var names = g.V(people.ann).out().tree().by("name").next();
        same(names.keySet(), Set.of("ann"));
    }

    static void mapsAndPredicates(Context context) {
        var g = context.g();
        People people = people(g);
        Object ann = people.ann.id();
        same(g.V(ann).valueMap().next(), Map.of("name", List.of("ann"), "age", List.of(41)));
        same(g.V(ann).elementMap().next(), Map.of(T.id, ann, T.label, "person", "name", "ann", "age", 41));
        same(g.E(people.edge).elementMap().next(), Map.of(T.id, people.edge.id(), T.label, "knows", "since", 1833,
            Direction.OUT, Map.of(T.id, ann, T.label, "person"),
            Direction.IN, Map.of(T.id, people.bob.id(), T.label, "person")));
        same(g.V().groupCount().next(), Map.of(people.ann, 1L, people.bob, 1L));
        same(g.V().groupCount().by(T.label).next(), Map.of("person", 2L));
        same(g.inject(Map.of("a", 1)).<Object>unfold().next(), Map.of("a", 1));
        same(g.V().values("name").order().by(Order.desc).toList(), List.of("bob", "ann"));
        same(g.V().has("age", P.gt(40).and(P.lt(50))).count().next(), 1L);
        same(g.V().has(T.id, P.within(ann, 99L)).values("name").toList(), List.of("ann"));
        same(g.V().has("name", "nobody").toList(), List.of());
        // As an argument, an element stands for its id.
        same(g.<Object>inject(people.ann, people.edge).toList(), List.of(ann, people.edge.id()));
    }

    static void bulk(Context context) throws Exception {
        Object[] ones = new Object[1000];
        Arrays.fill(ones, 1);
        same(context.g().inject(ones).barrier().toList(), Arrays.asList(ones));
        that(List.copyOf((java.util.Collection<?>) context.g().inject(1, 1, 2).aggregate("x").cap("x").next())
            .equals(List.of(1, 1, 2)), "a bulk set");
        same(askAll(context.client(), "g.inject(1, 1, 2).barrier()"), List.of(1, 1, 2));
    }
}
