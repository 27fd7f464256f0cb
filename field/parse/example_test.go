package parse_test

import (
	"fmt"

	"logstow/field/parse"
)

func ExampleSplitter() {
	p := parse.Auto()
	s := p.Splitter("status", "path", "user")
	for _, message := range []string{
		`192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /cart?id=7 HTTP/1.1" 200 5123`,
		`{"status":503,"path":"/pay"}`,
	} {
		s.Split([]byte(message))
		fmt.Printf("%s %s %q\n", s.Value(0).Text, s.Value(1).Text, s.Value(2).Text)
	}
	// Output:
	// 200 /cart "ann"
	// 503 /pay ""
}

func ExampleSplitter_All() {
	p, err := parse.Compile(`pattern '<level>: <user> paid <amount> €'`)
	if err != nil {
		panic(err)
	}
	s := p.Splitter()
	s.Split([]byte("warn: ann paid 12.50 €"))
	for name, value := range s.All() {
		fmt.Printf("%s=%s ", name, value.Text)
	}
	level, _ := p.Level([]byte("warn: ann paid 12.50 €"))
	fmt.Println(level)
	// Output: level=warn user=ann amount=12.50 WARN
}
