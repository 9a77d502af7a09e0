// Checks a server with gremlin-go, as its users query it: `go run checks.go ws://127.0.0.1:8182/gremlin`.
//
// Each entry of `checks` is one check; the last line says how many passed. The program that runs this restarts the
// server when it reads the line "restart", and then writes a line. This driver has GraphBinary only.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"strings"
	"time"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
	"github.com/google/uuid"
)

const endless = "g.inject(1).repeat(__.identity()).until(__.is(2))"

var t__ = gremlingo.T__

type context struct {
	g      *gremlingo.GraphTraversalSource
	client *gremlingo.Client
}

type check struct {
	name string
	run  func(context)
}

var checks = []check{
	{"values of every type", valuesOfEveryType},
	{"elements", elements},
	{"bulk", bulk},
	{"transactions", transactions},
	{"conflicts", conflicts},
	{"errors", errorsOfTheServer},
	{"time-outs", timeOuts},
	{"many at once", manyAtOnce},
	{"a million rows", aMillionRows},
	{"20 MB in 100 rows", twentyMegabytes},
	{"reconnects", reconnects},
}

// must gives the value, and ends the program at an error.
func must[V any](value V, err error) V {
	no(err)
	return value
}

func no(err error) {
	if err != nil {
		panic(err)
	}
}

func same(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("found %#v (%T), expected %#v (%T)", found, found, expected, expected))
	}
}

// refused demands an error whose text has all of `words`.
func refused(err error, words ...string) {
	if err == nil {
		panic("an error was expected")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			panic(fmt.Sprintf("%q expected in %v", word, err))
		}
	}
}

func one(traversal *gremlingo.GraphTraversal) any {
	return must(traversal.Next()).GetInterface()
}

func all(traversal *gremlingo.GraphTraversal) []any {
	var values []any
	for _, result := range must(traversal.ToList()) {
		values = append(values, result.GetInterface())
	}
	return values
}

func ask(c context, text string, bindings ...map[string]any) ([]*gremlingo.Result, error) {
	results, err := c.client.Submit(text, bindings...)
	if err != nil {
		return nil, err
	}
	return results.All()
}

func clear(c context) {
	no(<-c.g.V().Drop().Iterate())
}

func valuesOfEveryType(c context) {
	values := []any{
		true, false, int32(1), int32(-5), int64(1) << 40, int16(3), uint8(4), float32(0.5), 1.5, "text", "ä😀",
		new(big.Int).Lsh(big.NewInt(1), 80), uuid.MustParse("41d2e28a-20a4-4ab0-b379-d810dede3786"),
		time.UnixMilli(1706933106789).UTC(), 90 * time.Second, []any{int32(1), []any{"a"}},
		map[any]any{"a": int32(1), int32(2): []any{int32(3)}}, math.Inf(1), nil,
	}
	for _, value := range values {
		same(plain(one(c.g.Inject(value))), value)
		results := must(ask(c, "g.inject(x)", map[string]any{"x": value}))
		same(plain(results[0].GetInterface()), value)
	}
	same(must(ask(c, "g.inject(x)", map[string]any{"x": int64(7)}))[0].GetInterface(), int64(7))
	set := one(c.g.Inject(gremlingo.NewSimpleSet("a"))).(gremlingo.Set)
	same(set.ToSlice(), []any{"a"})
	decimal := one(c.g.Inject(&gremlingo.BigDecimal{Scale: 2, UnscaledValue: big.NewInt(125)})).(*gremlingo.BigDecimal)
	same([]int64{int64(decimal.Scale), decimal.UnscaledValue.Int64()}, []int64{2, 125})
	bytes := one(c.g.Inject(&gremlingo.ByteBuffer{Data: []byte{0, 255}})).(*gremlingo.ByteBuffer)
	same(bytes.Data, []byte{0, 255})
}

// plain gives times in one zone, as reflect.DeepEqual looks at it.
func plain(value any) any {
	if moment, is := value.(time.Time); is {
		return moment.UTC()
	}
	return value
}

func elements(c context) {
	clear(c)
	g := c.g
	ann := one(g.AddV("person").Property("name", "ann").Property("age", 41)).(*gremlingo.Vertex)
	bob := one(g.AddV("person").Property("name", "bob")).(*gremlingo.Vertex)
	edge := one(g.V(ann.Id).AddE("knows").To(t__.V(bob.Id)).Property("since", 1833)).(*gremlingo.Edge)
	same([]any{edge.OutV.Id, edge.InV.Id, edge.Label}, []any{ann.Id, bob.Id, "knows"})
	found := map[string]any{}
	for _, property := range one(g.V(ann)).(*gremlingo.Vertex).Properties.([]any) {
		property := property.(*gremlingo.VertexProperty)
		// `Key` is empty.
		found[property.Label] = property.Value
	}
	// The driver writes an `int` as a long; as an argument of `Inject`, as an integer if it fits.
	same(found, map[string]any{"name": "ann", "age": int64(41)})
	same(one(g.V(ann).Properties("name")).(*gremlingo.VertexProperty).Value, "ann")
	same(one(g.E(edge).Properties()).(*gremlingo.Property).Value, int64(1833))
	path := one(g.V(ann).As("a").OutE("knows").InV().Values("name").Path()).(*gremlingo.Path)
	same([]any{len(path.Objects), path.Objects[3]}, []any{4, "bob"})
	same(one(g.V(ann).ValueMap("name")), map[any]any{"name": []any{"ann"}})
	// As keys of a map, the driver reads T.label as the text "label".
	same(one(g.E(edge).ElementMap()).(map[any]any)["label"], "knows")
	same(one(g.V().GroupCount().By("name")), map[any]any{"ann": int64(1), "bob": int64(1)})
	same(all(g.V().Values("name").Order().By(gremlingo.Order.Desc)), []any{"bob", "ann"})
	same(one(g.V().Has("age", gremlingo.P.Gt(40)).Count()), int64(1))
	same(all(g.V().Has("name", gremlingo.P.Within("bob", "eve")).Id()), []any{bob.Id})
	same(all(g.V().Has("name", "nobody")), []any(nil))
}

func bulk(c context) {
	ones := make([]any, 1000)
	for at := range ones {
		ones[at] = int32(1)
	}
	same(all(c.g.Inject(ones...).Barrier()), ones)
}

func transactions(c context) {
	clear(c)
	count := func() any { return one(c.g.V().Count()) }
	tx := c.g.Tx()
	within := must(tx.Begin())
	no(<-within.AddV("person").Property("name", "ann").Iterate())
	same(one(within.V().Count()), int64(1))
	same(count(), int64(0))
	no(tx.Commit())
	same(count(), int64(1))
	tx = c.g.Tx()
	within = must(tx.Begin())
	no(<-within.AddV("person").Iterate())
	no(tx.Rollback())
	same(count(), int64(1))
	// Closed without either: rolled back.
	tx = c.g.Tx()
	within = must(tx.Begin())
	no(<-within.AddV("person").Iterate())
	no(tx.Close())
	same(count(), int64(1))
}

func conflicts(c context) {
	clear(c)
	no(<-c.g.AddV("counter").Property("value", 0).Iterate())
	first, second := c.g.Tx(), c.g.Tx()
	inFirst, inSecond := must(first.Begin()), must(second.Begin())
	no(<-inFirst.V().Property("value", 1).Iterate())
	err := <-inSecond.V().Property("value", 2).Iterate()
	no(first.Commit())
	if err == nil {
		err = second.Commit()
	}
	// Of the code 596 this driver keeps the low byte: 84.
	refused(err, "conflict", "statusCode: 84")
	if second.IsOpen() {
		no(second.Rollback())
	}
	same(one(c.g.V().Values("value")), int64(1))
}

func errorsOfTheServer(c context) {
	_, err := c.g.Inject(1).Fail("no stock").Next()
	refused(err, "no stock", "statusCode: 83")
	_, err = ask(c, "g.V().otu()")
	refused(err, "statusCode: 85", "kind:invalid", "line:1", "column:7")
	// In a transaction, a failed write leaves nothing but a rollback.
	tx := c.g.Tx()
	within := must(tx.Begin())
	refused(<-within.AddV("person").Fail("no").Iterate())
	_, err = within.V().Count().Next()
	refused(err, "rolled back")
	no(tx.Rollback())
}

func timeOuts(c context) {
	options := new(gremlingo.RequestOptionsBuilder).SetEvaluationTimeout(100).Create()
	results := must(c.client.SubmitWithOptions(endless, options))
	_, err := results.All()
	refused(err, "statusCode: 86")
	query := c.g.With("evaluationTimeout", 100).Inject(1).Repeat(t__.Identity()).Until(t__.Is(2))
	_, err = query.Next()
	refused(err, "statusCode: 86")
}

func manyAtOnce(c context) {
	var pending []gremlingo.ResultSet
	for number := range 1000 {
		pending = append(pending, must(c.client.Submit("g.inject(x)", map[string]any{"x": int32(number)})))
	}
	for number, results := range pending {
		same(must(results.All())[0].GetInterface(), int32(number))
	}
}

func aMillionRows(c context) {
	clear(c)
	doubled := t__.Union(t__.Identity(), t__.Identity())
	no(<-c.g.Inject(0).Repeat(doubled).Times(10).Limit(1000).AddV("point").Iterate())
	results := must(c.client.Submit("g.V().as('a').V().as('b').select('b').id()"))
	rows := 0
	for range results.Channel() {
		rows++
	}
	no(results.GetError())
	same(rows, 1_000_000)
}

func twentyMegabytes(c context) {
	clear(c)
	text := strings.Repeat("x", 200_000)
	query := "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)" +
		".addV('document').property('text', x).iterate()"
	must(ask(c, query, map[string]any{"x": text}))
	found := all(c.g.V().HasLabel("document").Values("text"))
	same(len(found), 100)
	for _, one := range found {
		same(one, text)
	}
	clear(c)
}

func reconnects(c context) {
	clear(c)
	no(<-c.g.AddV("person").Iterate())
	within := must(c.g.Tx().Begin())
	no(<-within.AddV("person").Iterate())
	fmt.Println("restart")
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
	// Requests fail until the driver has noticed, and then it connects again; the open transaction is gone.
	end := time.Now().Add(20 * time.Second)
	for {
		found, err := c.g.V().Count().Next()
		if err == nil {
			same(found.GetInterface(), int64(1))
			results, err := ask(c, "g.V().count()")
			if err == nil {
				same(results[0].GetInterface(), int64(1))
				return
			}
		}
		if time.Now().After(end) {
			panic(errors.Join(errors.New("no new connection"), err))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	url := os.Args[1]
	quiet := func(settings *gremlingo.DriverRemoteConnectionSettings) { settings.LogVerbosity = gremlingo.Off }
	connection := must(gremlingo.NewDriverRemoteConnection(url, quiet))
	client := must(gremlingo.NewClient(url, func(settings *gremlingo.ClientSettings) {
		settings.LogVerbosity = gremlingo.Off
	}))
	c := context{gremlingo.Traversal_().With(connection), client}
	for _, check := range checks {
		began := time.Now()
		check.run(c)
		fmt.Printf("%s: %d ms\n", check.name, time.Since(began).Milliseconds())
	}
	client.Close()
	connection.Close()
	fmt.Printf("%d passed\n", len(checks))
}
