package parse_test

import (
	"fmt"

	"logstow/message/parse"
)

func ExampleSplitter() {
	p := parse.Auto()
	s := p.Splitter("status", "path", "user")
	for _, message := range []string{
		`192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /cart?id=7 HTTP/1.1" 200 5123`,
		`{"status":503,"path":"/pay"}`,
	} {
		s.Split(nil, []byte(message))
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
	s.Split(nil, []byte("warn: ann paid 12.50 €"))
	for name, value := range s.All() {
		fmt.Printf("%s=%s ", name, value.Text)
	}
	level, _ := p.Leveler().Level([]byte("warn: ann paid 12.50 €"))
	fmt.Println(level)
	// Output: level=warn user=ann amount=12.50 WARN
}

func ExampleSplitter_Text() {
	s := parse.Auto().Splitter()
	for _, message := range []string{
		`192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /cart HTTP/1.1" 200 5123`,
		`E1120 15:04:05.123456 7 pods.go:7] "Pod status" pod="kube-system/dns"`,
		`{"status":503}`,
		`status=503`,
		`{"log":"192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] \"GET / HTTP/1.1\" 200 1"}`,
	} {
		s.Split(nil, []byte(message))
		for name, value := range s.Text() {
			fmt.Printf("%s=%s ", name, value.Text)
		}
		fmt.Println(".")
	}
	// Output:
	// ip=192.0.2.7 user=ann time=20/Nov/2026:15:04:05 +0000 method=GET path=/cart protocol=HTTP/1.1 status=200 bytes=5123 .
	// severity=E time=1120 15:04:05.123456 thread=7 file=pods.go line=7 message="Pod status" pod="kube-system/dns" pod=kube-system/dns .
	// .
	// .
	// .
}
