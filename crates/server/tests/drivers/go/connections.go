// Connections that end: a restart of the server, and clients that leave.
package main

import (
	"errors"
	"time"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
)

func leavesInResult(c context) {
	clear(c)
	must(ask(c, "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).addV('point').iterate()"))
	leaving := connect(c.url, nil, nil)
	results := must(leaving.client.Submit("g.V().V().V()"))
	if _, ok, err := results.One(); err != nil || !ok {
		panic(err)
	}
	leaving.close()
	// Its query is cancelled.
	say("idle")
}

func leavesInTransaction(c context) {
	clear(c)
	leaving := connect(c.url, nil, nil)
	within := must(leaving.g.Tx().Begin())
	no(<-within.AddV("person").Iterate())
	leaving.close()
	say("idle")
	same(one(c.g.V().Count()), int64(0))
}

func restart(c context) {
	clear(c)
	no(<-c.g.AddV("person").Iterate())
	tx := c.g.Tx()
	within := must(tx.Begin())
	no(<-within.AddV("person").Iterate())
	say("restart")
	// Requests fail until the driver has noticed, and then it connects again. A transaction goes on in another one, without
	// what it did before.
	for _, query := range []func() (*gremlingo.Result, error){
		func() (*gremlingo.Result, error) { return c.g.V().Count().Next() },
		func() (*gremlingo.Result, error) { return within.V().Count().Next() },
		func() (*gremlingo.Result, error) {
			results, err := ask(c, "g.V().count()")
			if err != nil {
				return nil, err
			}
			return results[0], nil
		},
	} {
		same(untilConnected(query).GetInterface(), int64(1))
	}
	no(tx.Commit())
	same(one(c.g.V().Count()), int64(1))
}

func untilConnected(query func() (*gremlingo.Result, error)) *gremlingo.Result {
	end := time.Now().Add(30 * time.Second)
	for {
		result, err := query()
		if err == nil {
			return result
		}
		if time.Now().After(end) {
			panic(errors.Join(errors.New("no new connection"), err))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
