// Many rows in order, and large ones.

import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;

final class Rows extends Support {
    static final List<Named<Context>> CHECKS = List.of(
        new Named<>("many rows in order", Rows::manyRows),
        new Named<>("20 MB in 100 rows", Rows::twentyMegabytes));

    static void manyRows(Context context) throws Exception {
        var g = context.g();
        clear(g);
        g.inject(0).repeat(__.union(__.identity(), __.identity())).times(9).limit(500).addV("point").iterate();
        List<Object> ids = g.V().id().toList();
        same(new HashSet<>(ids).size(), 500);
        // GraphSON is slow in this driver.
        List<Object> first = context.isBinary() ? ids : ids.subList(0, 50);
        int rows = 0;
        for (var row : context.client().submit("g.V(first).V().id()", Map.of("first", first)))
            if (!row.getObject().equals(ids.get(rows++ % 500))) throw new AssertionError("row " + rows + ": " + row);
        same(rows, first.size() * 500);
    }

    static void twentyMegabytes(Context context) throws Exception {
        clear(context.g());
        String text = "x".repeat(200_000);
        String query = "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)"
            + ".addV('document').property('text', x).iterate()";
        askAll(context.client(), query, text);
        same(context.g().V().hasLabel("document").values("text").toList(), Collections.nCopies(100, text));
        same(askAll(context.client(), "g.V().values('text')"), Collections.nCopies(100, text));
        clear(context.g());
    }
}
