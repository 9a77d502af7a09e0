// Log-ins by TLS, with the right password and wrong ones, and roles.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
)

// A server with users, and the root of its certificate.
type site struct{ url, password, root string }

func (s site) connect(user, password string) context {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(must(os.ReadFile(s.root))) {
		panic("no certificate in " + s.root)
	}
	return connect(s.url, gremlingo.BasicAuthInfo(user, password), &tls.Config{RootCAs: roots})
}

func roles(s site) {
	writer, reader := s.connect("writer", s.password), s.connect("reader", s.password)
	no(<-writer.g.AddV("person").Property("name", "ann").Iterate())
	same(all(reader.g.V().Values("name")), []any{"ann"})
	// Of the code 403 this driver keeps the low byte: 147.
	refused(<-reader.g.AddV("person").Iterate(), "reader", "statusCode: 147")
	_, err := ask(reader, "g.addV('person')")
	refused(err, "reader", "statusCode: 147")
	// The connections can be used as before.
	same(one(reader.g.V().Count()), int64(1))
	same(must(ask(reader, "g.V().count()"))[0].GetInterface(), int64(1))
	clear(writer)
	reader.close()
	writer.close()
}

func transactionsLogIn(s site) {
	writer, reader := s.connect("writer", s.password), s.connect("reader", s.password)
	for range 5 {
		tx := writer.g.Tx()
		within := must(tx.Begin())
		no(<-within.AddV("person").Iterate())
		no(tx.Commit())
	}
	same(one(writer.g.V().Count()), int64(5))
	tx := reader.g.Tx()
	within := must(tx.Begin())
	same(one(within.V().Count()), int64(5))
	refused(<-within.AddV("person").Iterate(), "statusCode: 147")
	no(tx.Rollback())
	clear(writer)
	reader.close()
	writer.close()
}

func poolLogsIn(s site) {
	reader := s.connect("reader", s.password)
	// The driver sends all of them before it has logged in, and the server keeps 64 a connection.
	atOnce(reader, 64)
	reader.close()
}

func wrongLogIns(s site) {
	for _, login := range [][]string{{"writer", "wrong horse"}, {"stranger", s.password}} {
		wrong := s.connect(login[0], login[1])
		_, err := wrong.g.V().ToList()
		// 401 becomes 145.
		refused(err, "user or password is wrong", "statusCode: 145")
		_, err = ask(wrong, "g.V().count()")
		refused(err, "statusCode: 145")
		tx := wrong.g.Tx()
		within := must(tx.Begin())
		refused(<-within.AddV("person").Iterate(), "statusCode: 145")
		wrong.close()
	}
	nobody := s.connect("nobody", s.password)
	_, err := nobody.g.V().ToList()
	refused(err, "no role", "statusCode: 147")
	nobody.close()
}

func anotherRoot(s site) {
	_, err := gremlingo.NewClient(s.url, func(settings *gremlingo.ClientSettings) {
		settings.LogVerbosity = gremlingo.Off
		settings.AuthInfo = gremlingo.BasicAuthInfo("writer", s.password)
	})
	refused(err, "certificate signed by unknown authority")
}
