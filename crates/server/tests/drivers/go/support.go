// What the checks share.
package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"os"
	"reflect"
	"strings"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
)

const endless = "g.inject(1).repeat(__.identity()).until(__.is(2))"

var t__ = gremlingo.T__

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
		panic(fmt.Sprintf("found %s, expected %s", shown(found), shown(expected)))
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

type context struct {
	url        string
	g          *gremlingo.GraphTraversalSource
	client     *gremlingo.Client
	connection *gremlingo.DriverRemoteConnection
}

func connect(url string, auth gremlingo.AuthInfoProvider, config *tls.Config) context {
	connection := must(gremlingo.NewDriverRemoteConnection(url, func(settings *gremlingo.DriverRemoteConnectionSettings) {
		settings.LogVerbosity, settings.AuthInfo, settings.TlsConfig = gremlingo.Off, auth, config
	}))
	client := must(gremlingo.NewClient(url, func(settings *gremlingo.ClientSettings) {
		settings.LogVerbosity, settings.AuthInfo, settings.TlsConfig = gremlingo.Off, auth, config
	}))
	return context{url, gremlingo.Traversal_().With(connection), client, connection}
}

func (c context) close() {
	c.client.Close()
	c.connection.Close()
}

// say prints a line, and waits for the answer of the program that runs this.
func say(line string) string {
	fmt.Println(line)
	return must(bufio.NewReader(os.Stdin).ReadString('\n'))
}

// shown gives a value with the types of its parts.
func shown(value any) string {
	if values, is := value.([]any); is {
		parts := make([]string, len(values))
		for at, part := range values {
			parts[at] = shown(part)
		}
		return fmt.Sprint(parts)
	}
	return fmt.Sprintf("%T(%#v)", value, value)
}
