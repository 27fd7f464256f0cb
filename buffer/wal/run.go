package wal

// Key identifies the records of a batch: those of one service, class, parser and bucket.
type Key struct {
	Service, Class string
	// Parse is the parser of the messages; "" is auto/1.
	Parse string
	// Start and Width of the bucket are in Unix nanoseconds and nanoseconds.
	Start, Width int64
}

// Run is a range of an entry's records that belong to one bucket. Start and Width are in Unix
// nanoseconds and nanoseconds.
type Run struct {
	Start, Width int64
	Count        int
}

// count returns how many records runs cover.
func count(runs []Run) (n int) {
	for _, r := range runs {
		n += r.Count
	}
	return n
}

// skip returns how many records of a run, numbered from first on, are in sealed batches if all up to number through are.
func (r Run) skip(through, first uint64) int {
	if through < first {
		return 0
	}
	return int(min(uint64(r.Count), through-first+1))
}
