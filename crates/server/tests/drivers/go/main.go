// Checks a server with gremlin-go, as its users query it: `go run . URL [PASSWORD ROOT]`.
//
// Each entry of a list is one check; the last line says how many passed. With a password the checks of log-ins are
// run: the server has the users reader, writer and nobody, all with this password, and its certificate is signed by
// ROOT, a file in PEM. The program that runs this restarts the server at the line "restart", waits until nothing runs
// there at the line "idle", adds a vertex with a date and a period at the line "sample", and writes a line when that
// is done. This driver has GraphBinary only.
package main

import (
	"fmt"
	"os"
	"time"
)

type check[C any] struct {
	name string
	run  func(C)
}

var checks = []check[context]{
	{"arguments and variables of every type", argumentsAndVariables},
	{"literals of every type", literals},
	{"limits of the driver", limits},
	{"vertices and edges", verticesAndEdges},
	{"properties of elements", properties},
	{"paths", paths},
	{"maps and predicates", mapsAndPredicates},
	{"bulk", bulk},
	{"transactions", transactions},
	{"conflicts", conflicts},
	{"errors", errorsOfTheServer},
	{"time-outs", timeOuts},
	{"many at once", manyAtOnce},
	{"many rows in order", manyRows},
	{"20 MB in 100 rows", twentyMegabytes},
	{"a client that leaves in a result", leavesInResult},
	{"a client that leaves in a transaction", leavesInTransaction},
	{"a restart of the server", restart},
}

var logins = []check[site]{
	{"a writer writes and a reader reads", roles},
	{"transactions log in on connections of their own", transactionsLogIn},
	{"many at once log in each connection", poolLogsIn},
	{"wrong log-ins are refused", wrongLogIns},
	{"a server of another root is not trusted", anotherRoot},
}

func run[C any](checks []check[C], context C) {
	for _, check := range checks {
		began := time.Now()
		check.run(context)
		fmt.Printf("%s: %d ms\n", check.name, time.Since(began).Milliseconds())
	}
	fmt.Printf("%d passed\n", len(checks))
}

func main() {
	url := os.Args[1]
	if len(os.Args) > 2 {
		run(logins, site{url, os.Args[2], os.Args[3]})
		return
	}
	c := connect(url, nil, nil)
	run(checks, c)
	c.close()
}
