// Values of every type, both ways: as arguments of a traversal and as variables of a text; and what this driver can't send or
// read.
package main

import (
	"fmt"
	"math"
	"math/big"
	"time"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
	"github.com/google/uuid"
)

type sample struct {
	value any
	kind  any
}

// Values that come back as they were sent, and what the server takes them for.
func samples() []sample {
	kinds, west := gremlingo.GType, time.FixedZone("", -19800)
	return []sample{
		{true, kinds.Boolean}, {false, kinds.Boolean},
		{uint8(4), kinds.Byte}, {int16(-300), kinds.Short},
		{int32(7), kinds.Int}, {int32(math.MinInt32), kinds.Int}, {int32(math.MaxInt32), kinds.Int},
		{int64(1) << 40, kinds.Long}, {int64(math.MinInt64), kinds.Long}, {int64(math.MaxInt64), kinds.Long},
		{new(big.Int).Lsh(big.NewInt(1), 80), kinds.BigInt}, {big.NewInt(-7), kinds.BigInt},
		{float32(0.1), kinds.Float}, {0.1, kinds.Double}, {-math.SmallestNonzeroFloat64, kinds.Double},
		{math.Inf(1), kinds.Double}, {math.Inf(-1), kinds.Double},
		{&gremlingo.BigDecimal{Scale: 3, UnscaledValue: big.NewInt(1250)}, kinds.BigDecimal},
		{&gremlingo.BigDecimal{Scale: -2, UnscaledValue: new(big.Int).Lsh(big.NewInt(-1), 99)}, kinds.BigDecimal},
		{"", kinds.String}, {"ä\x00\u2028 😀\U0010ffff", kinds.String},
		{uuid.MustParse("41d2e28a-20a4-4ab0-b379-d810dede3786"), kinds.UUID},
		{&gremlingo.ByteBuffer{Data: []byte{0, 255}}, kinds.Binary},
		{time.Date(2024, 2, 3, 4, 5, 6, 789123456, west), kinds.DateTime},
		{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), kinds.DateTime},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), kinds.DateTime},
		{50*time.Hour + 7, kinds.Duration}, {-90_500 * time.Millisecond, kinds.Duration},
		// An empty list is read as a nil slice.
		{[]any{int32(1), "a", []any{nil, []any(nil)}}, kinds.List},
		{map[any]any{"a": int32(1), int32(2): []any{int32(3)}, "b": nil}, kinds.Map},
		{gremlingo.NewSimpleSet(int32(1), "a"), kinds.Set},
	}
}

// alike compares times by moment and offset, as reflect.DeepEqual looks at how a zone is called.
func alike(found, expected any) {
	if moment, is := expected.(time.Time); is {
		found, expected = found.(time.Time).Format(time.RFC3339Nano), moment.Format(time.RFC3339Nano)
	}
	same(found, expected)
}

func argumentsAndVariables(c context) {
	for _, sample := range samples() {
		alike(one(c.g.Inject(sample.value).Is(gremlingo.P.TypeOf(sample.kind))), sample.value)
		text := fmt.Sprintf("g.inject(x).is(P.typeOf(GType.%v))", sample.kind)
		alike(must(ask(c, text, map[string]any{"x": sample.value}))[0].GetInterface(), sample.value)
	}
	same(one(c.g.Inject(nil)), nil)
	same(must(ask(c, "g.inject(x)", map[string]any{"x": nil}))[0].GetInterface(), nil)
	if number := one(c.g.Inject(math.NaN())).(float64); !math.IsNaN(number) {
		panic(number)
	}
	same(all(c.g.Inject([]any{int32(1)}, []any{int32(2)})), []any{[]any{int32(1)}, []any{int32(2)}})
	// An `int` is a long, but as an argument of `inject`, an integer if it fits. In Go each is 64 bits wide.
	same(must(ask(c, "g.inject(x)", map[string]any{"x": 7}))[0].GetInterface(), int64(7))
	same(one(c.g.Inject(7)), int32(7))
	same(one(c.g.Inject(int64(7))), int32(7))
}

func literals(c context) {
	texts := map[string]any{
		"1b": uint8(1), "2s": int16(2), "3i": int32(3), "4l": int64(4), "5n": big.NewInt(5), "0.5f": float32(0.5), "0.1d": 0.1,
		"1.25m": &gremlingo.BigDecimal{Scale: 2, UnscaledValue: big.NewInt(125)}, "'ä😀'": "ä😀", "null": nil,
		"UUID('41d2e28a-20a4-4ab0-b379-d810dede3786')": uuid.MustParse("41d2e28a-20a4-4ab0-b379-d810dede3786"),
		"datetime('2024-02-03T04:05:06.789-05:30')":    time.Date(2024, 2, 3, 4, 5, 6, 789e6, time.FixedZone("", -19800)),
	}
	for text, value := range texts {
		alike(must(ask(c, "g.inject("+text+")"))[0].GetInterface(), value)
	}
}

// What this driver can't send or read.
func limits(c context) {
	asked := func(text string, x any) any {
		return must(ask(c, text, map[string]any{"x": x}))[0].GetInterface()
	}
	// Bytes have no sign when they are read, and are 16 bits wide when they are sent with one.
	same(asked("g.inject(-4b)", nil), uint8(252))
	same(asked("g.inject(x)", int8(-4)), int16(-4))
	same(asked("g.inject(x).is(P.typeOf(GType.SHORT))", int8(-4)), int16(-4))
	// Tokens are read as texts.
	same(one(c.g.Inject(gremlingo.T.Label)), "label")
	same(one(c.g.Inject(gremlingo.Direction.Out)), "OUT")
	clear(c)
	say("sample")
	for _, text := range []string{"g.V().values('date')", "g.V().values('period')", "g.inject(1).tree()", "g.E().subgraph('s').cap('s')"} {
		_, err := ask(c, text)
		refused(err, "unknown data type")
	}
	// Its connections can be used as before.
	usable(c, c.g)
}
