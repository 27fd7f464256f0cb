// Command scaling prints the load of a fleet of shippers on storage, from 10 to 1,000,000 of them,
// by the limits and list prices of Azure: docs/scaling.md explains it.
//
//	go run ./internal/test/scaling [-flush 1m] [-rate 2000] [-keep 720h]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	f := fleet{}
	flag.DurationVar(&f.flush, "flush", time.Minute, "how often each shipper ships (--flush-interval)")
	flag.Float64Var(&f.rate, "rate", 2000, "bytes of logs a second that each shipper reads")
	flag.DurationVar(&f.keep, "keep", 30*24*time.Hour, "how long logs are kept")
	flag.Parse()
	if f.flush < time.Second || f.flush > time.Hour || f.rate <= 0 || f.keep < 24*time.Hour {
		fmt.Fprintln(os.Stderr, "scaling: want -flush of 1s to 1h, -rate above 0, -keep of 24h or more")
		os.Exit(2)
	}
	if err := printTable(os.Stdout, f); err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

// fleets are the numbers of shippers in the tables.
func fleets() []int { return []int{10, 100, 1000, 10_000, 100_000, 1_000_000} }

// printTable prints the table of a fleet.
func printTable(to io.Writer, f fleet) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "shippers\tcreates/s\trequests/s\thottest/s\thot\tMB/s\taccount\tsegments/h\tpages\tretain\twrite $\tindex $\tkeep $\tretain $\taccounts\t\n")
	for _, n := range fleets() {
		f.shippers = n
		l := f.load()
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.1f\t%.0f%%\t%.2f\t%.1f%%\t%d\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.1f\t%d\t\n", n,
			l.creates, l.requests, l.hottest, 100*l.hot, l.ingress/1e6, 100*l.share, l.segments, l.pages, hours(l.retain),
			l.writeCost, l.indexCost, l.keepCost, l.retainCost, l.accounts)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	ends, limit := f.accountLimit()
	fmt.Fprintf(to, "one account ends at %d shippers: %s\none shipper retain keeps up with %d shippers\n\n", ends, limit, f.retainLimit())
	return printCompaction(to, f)
}

// hours is a duration in the largest unit with a non-zero integer part.
func hours(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%.1fh", d.Hours())
	case d >= time.Minute:
		return fmt.Sprintf("%.1fm", d.Minutes())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
