// Values of every type, both ways: as arguments of a traversal and as variables of a text; and what this driver can't send
// or read.

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.Period;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.tinkerpop.gremlin.process.traversal.GType;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.T;

final class Values extends Support {
    static final List<Named<Context>> CHECKS = List.of(
        new Named<>("arguments and variables of every type", Values::argumentsAndVariables),
        new Named<>("values without literals", Values::sample),
        new Named<>("literals of every type", Values::literals));

    static final UUID ID = UUID.fromString("41d2e28a-20a4-4ab0-b379-d810dede3786");

    record Sample(Object value, GType kind) {}

    /** Values that come back as they were sent, and what the server takes them for. */
    static List<Sample> samples() {
        Map<Object, Object> map = new HashMap<>(Map.of("a", 1, 2, List.of(3)));
        map.put("b", null);
        return List.of(
            new Sample(true, GType.BOOLEAN), new Sample(false, GType.BOOLEAN),
            new Sample((byte) -4, GType.BYTE), new Sample((short) -300, GType.SHORT),
            new Sample(7, GType.INT), new Sample(Integer.MIN_VALUE, GType.INT), new Sample(Integer.MAX_VALUE, GType.INT),
            new Sample(7L, GType.LONG), new Sample(Long.MIN_VALUE, GType.LONG), new Sample(Long.MAX_VALUE, GType.LONG),
            new Sample(BigInteger.ONE.shiftLeft(80), GType.BIGINT), new Sample(BigInteger.valueOf(-7), GType.BIGINT),
            new Sample(0.1f, GType.FLOAT), new Sample(Float.NEGATIVE_INFINITY, GType.FLOAT),
            new Sample(0.1, GType.DOUBLE), new Sample(-Double.MIN_VALUE, GType.DOUBLE), new Sample(-0.0, GType.DOUBLE),
            new Sample(Double.POSITIVE_INFINITY, GType.DOUBLE), new Sample(Double.NaN, GType.DOUBLE),
            new Sample(new BigDecimal("1.250"), GType.BIGDECIMAL),
            new Sample(new BigDecimal("-12345678901234567890.0123456789"), GType.BIGDECIMAL),
            new Sample("", GType.STRING), new Sample("ä\0\u2028 😀\uDBFF\uDFFF", GType.STRING), new Sample('é', GType.CHAR),
            new Sample(ID, GType.UUID), new Sample(ByteBuffer.wrap(new byte[] {0, -1}), GType.BINARY),
            new Sample(OffsetDateTime.parse("2024-02-03T04:05:06.789123456-05:30"), GType.DATETIME),
            new Sample(OffsetDateTime.parse("0001-01-01T00:00Z"), GType.DATETIME),
            new Sample(OffsetDateTime.parse("9999-12-31T23:59:59.999999999Z"), GType.DATETIME),
            new Sample(Duration.ofDays(2).plusNanos(7), GType.DURATION), new Sample(Duration.ofMillis(-90_500), GType.DURATION),
            new Sample(Arrays.asList(1, "a", Arrays.asList(null, List.of())), GType.LIST), new Sample(map, GType.MAP),
            new Sample(Set.of(1, "a"), GType.SET));
    }

    static void argumentsAndVariables(Context context) throws Exception {
        for (Sample sample : samples()) {
            List<Object> one = List.of(sample.value);
            same(context.g().<Object>inject(sample.value).is(P.typeOf(sample.kind)).toList(), one);
            String text = "g.inject(x).is(P.typeOf(GType." + sample.kind + "))";
            same(askAll(context.client(), text, sample.value), one);
        }
        for (Object value : Arrays.asList(null, T.id, T.label, Direction.OUT, Map.of(T.id, 1))) {
            same(context.g().inject(value).toList(), Arrays.asList(value));
            same(askAll(context.client(), "g.inject(x)", value), Arrays.asList(value));
        }
        same(context.g().inject(List.of(1, 2), List.of(3)).toList(), List.of(List.of(1, 2), List.of(3)));
    }

    static void sample(Context context) throws Exception {
        clear(context.g());
        say("sample");
        same(context.g().V().values("date").toList(), List.of(LocalDate.parse("2024-02-03")));
        same(context.g().V().values("period").toList(), List.of(Period.parse("P1M3D")));
        same(askAll(context.client(), "g.inject(x)", LocalDate.parse("2024-02-03")), List.of(LocalDate.parse("2024-02-03")));
        same(context.g().inject(Period.parse("P1Y2M3D")).toList(), List.of(Period.parse("P1Y2M3D")));
    }

    static void literals(Context context) throws Exception {
        Map<String, Object> texts = new HashMap<>();
        texts.put("1b", (byte) 1);
        texts.put("2s", (short) 2);
        texts.put("3i", 3);
        texts.put("4l", 4L);
        texts.put("5n", BigInteger.valueOf(5));
        texts.put("0.5f", 0.5f);
        texts.put("0.1d", 0.1);
        texts.put("1.25m", new BigDecimal("1.25"));
        texts.put("'ä😀'", "ä😀");
        texts.put("null", null);
        texts.put("UUID('" + ID + "')", ID);
        texts.put("datetime('2024-02-03T04:05:06.789-05:30')", OffsetDateTime.parse("2024-02-03T04:05:06.789-05:30"));
        texts.put("T.id", T.id);
        texts.put("Direction.IN", Direction.IN);
        for (var text : texts.entrySet())
            same(askAll(context.client(), "g.inject(" + text.getKey() + ")"), Arrays.asList(text.getValue()));
    }
}
