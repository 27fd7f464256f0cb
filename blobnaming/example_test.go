package blobnaming_test

import (
	"fmt"
	"time"

	"logstow/blobnaming"
)

func ExampleParse() {
	n, err := blobnaming.Parse("queue/2014/07/31/1800/000001.log")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Service, n.Bucket, n.Number)
	fmt.Println(n)
	// Output:
	// queue 2014-07-31 18:00:00 +0000 UTC 1
	// queue/2014/07/31/1800/000001.log
}

func ExamplePrefixes() {
	from := time.Date(2014, 7, 30, 22, 15, 0, 0, time.UTC)
	to := time.Date(2014, 8, 1, 0, 30, 0, 0, time.UTC)
	for _, p := range blobnaming.Prefixes("queue", from, to) {
		fmt.Println(p)
	}
	// Output:
	// queue/2014/07/3
	// queue/2014/08/01/00
}
