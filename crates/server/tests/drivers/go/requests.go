// Transactions, conflicts, errors, time limits, and many requests at once.
package main

import gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"

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
	refused(err, "conflict", "statusCode: 84", "kind:conflict")
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
	_, err = c.g.V().Math("_ +").Next()
	refused(err, "statusCode: 85", "step 2 (`math`)")
	// The connections can be used as before.
	usable(c, c.g)
	// In a transaction, a failed write leaves nothing but a rollback.
	tx := c.g.Tx()
	within := must(tx.Begin())
	refused(<-within.AddV("person").Fail("no").Iterate(), "statusCode: 83")
	_, err = within.V().Count().Next()
	refused(err, "rolled back", "statusCode: 85")
	no(tx.Rollback())
}

func usable(c context, g *gremlingo.GraphTraversalSource) {
	same(one(g.Inject(int32(7))), int32(7))
	same(must(ask(c, "g.inject(x)", map[string]any{"x": int32(7)}))[0].GetInterface(), int32(7))
}

func timeOuts(c context) {
	options := new(gremlingo.RequestOptionsBuilder).SetEvaluationTimeout(100).Create()
	_, err := must(c.client.SubmitWithOptions(endless, options)).All()
	refused(err, "statusCode: 86")
	without := func(g *gremlingo.GraphTraversalSource) error {
		query := g.With("evaluationTimeout", 100).Inject(1).Repeat(t__.Identity()).Until(t__.Is(2))
		_, err := query.Next()
		return err
	}
	refused(without(c.g), "statusCode: 86")
	usable(c, c.g)
	// In a transaction, which goes on: the query only read.
	tx := c.g.Tx()
	within := must(tx.Begin())
	refused(without(within), "statusCode: 86")
	usable(c, within)
	no(tx.Commit())
}

func manyAtOnce(c context) { atOnce(c, 1000) }

func atOnce(c context, count int) {
	var pending []gremlingo.ResultSet
	for number := range count {
		pending = append(pending, must(c.client.Submit("g.inject(x)", map[string]any{"x": int32(number)})))
	}
	for number, results := range pending {
		same(must(results.All())[0].GetInterface(), int32(number))
	}
}
