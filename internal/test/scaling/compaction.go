package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"logstow/internal/price"
	"logstow/store"
)

// The assumptions about compaction and queries, as documented in docs/scaling.md.
const (
	// target is the stored size of an output, in bytes.
	target = 64 << 20
	// tableBatch is the number of entities that a transaction removes.
	tableBatch = 100
	// outputReads are the reads that an identifier in an output takes: list of inputs, footer, filter, block.
	outputReads = 4
	// roundTrip is the time of a request in seconds, inFlight how many logq has in flight.
	roundTrip = 0.025
	inFlight  = 64
)

// merged compares a fleet with and without compaction.
type merged struct {
	// segments and outputs are those of the largest service in a day.
	segments, outputs int64
	// cost is of compacting all services, in dollars a month, share that of writing the segments.
	cost, share float64
	// Each is the search for an identifier in a day of the largest service: requests, seconds, dollars.
	before, after search
}

type search struct {
	requests         int64
	seconds, dollars float64
}

// compacted is what compaction of every hour, and a search, take.
func (f fleet) compacted() (m merged) {
	l := f.load()
	prices := price.Default()
	biggest := int64(max(f.shippers/largest, min(f.shippers, perService)))
	services := int64(max(1, f.shippers/perService))

	m.segments = 24 * l.segments
	stored := float64(biggest) * f.rate / compression * 3600 // an hour of the largest service
	m.outputs = 24 * int64(math.Ceil(stored/target))
	all := int64(l.creates * daySeconds)
	outputs := 24*services + int64(l.ingress*daySeconds/target)
	// Each hour is listed before and after its outputs are made; each segment is read, each output read
	// back. Entities and segments are removed in batches.
	day := price.Usage{
		List: 2*24*services + 2*all/page, Read: all + outputs + all/store.MaxDelete, Create: outputs,
		Table: outputs + all/tableBatch,
	}
	m.cost = 30 * prices.Cost(day)
	m.share = m.cost / (l.writeCost + prices.Cost(price.Usage{Table: int64(l.creates * monthSeconds)}))
	m.before = find(&prices, m.segments, m.segments)
	m.after = find(&prices, m.outputs, outputReads*m.outputs)
	return m
}

// find is the search for an identifier in a number of segments of 24 hours, which are listed in parallel.
func find(prices *price.Table, segments, reads int64) search {
	perHour := (segments/24 + page - 1) / page
	lists := 24 * max(1, perHour)
	return search{
		requests: lists + reads, dollars: prices.Cost(price.Usage{List: lists, Read: reads}),
		seconds: roundTrip * (float64(max(1, perHour)) + math.Ceil(float64(reads)/inFlight)),
	}
}

// printCompaction prints the table of a fleet with compaction.
func printCompaction(to io.Writer, f fleet) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "shippers\tsegments/day\toutputs/day\tcompact $\tof write\trequests\ts\t$\tcompacted: requests\ts\t$\t\n")
	for _, n := range fleets() {
		f.shippers = n
		m := f.compacted()
		fmt.Fprintf(w, "%d\t%d\t%d\t%.1f\t%.0f%%\t%d\t%.1f\t%.4f\t%d\t%.2f\t%.5f\t\n", n, m.segments, m.outputs, m.cost, 100*m.share,
			m.before.requests, m.before.seconds, m.before.dollars, m.after.requests, m.after.seconds, m.after.dollars)
	}
	return w.Flush()
}
