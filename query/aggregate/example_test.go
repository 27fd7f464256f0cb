package aggregate_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"logstow/message"
	"logstow/query/aggregate"
)

func Example() {
	by, err := aggregate.ParseBy([]string{"route"})
	if err != nil {
		log.Fatal(err)
	}
	compute, err := aggregate.ParseCompute([]string{"count, sum(took), p50(took) as median"})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := aggregate.Compile(aggregate.Spec{By: by, Compute: compute, Pivot: -1})
	if err != nil {
		log.Fatal(err)
	}
	a := aggregate.New(plan, aggregate.Options{Dir: os.TempDir()})
	defer a.Close()

	w := a.Worker() // one for each goroutine
	rec := aggregate.Record{Values: make([]message.Value, len(a.Fields))}
	for _, msg := range []string{`route=/a took=0.1`, `route=/a took=0.2`, `route=/b took=7`} {
		for i, f := range a.Fields {
			rec.Values[i] = message.NewFinder(f.Field).Find([]byte(msg))
		}
		if err := w.Add(&rec); err != nil {
			log.Fatal(err)
		}
	}

	result, err := a.Finish(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Columns {
		fmt.Print("|", c.Header)
	}
	fmt.Println()
	for row, err := range result.Rows() {
		if err != nil {
			log.Fatal(err)
		}
		for _, v := range append(row.Keys, row.Values...) {
			fmt.Printf("|%s", v.Append(nil))
		}
		fmt.Println()
	}
	// Output:
	// |count|sum(took)|median
	// |/a|2|0.3|0.1
	// |/b|1|7|7
}
