package buffer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/record"
)

// hours makes one record for each hour, relative to noon.
func hours(at ...int) (records []record.Record) {
	for _, h := range at {
		records = append(records, rec(noon.Add(time.Duration(h)*time.Hour), "h"))
	}
	return records
}

// TestOpenBound appends records of given hours, relative to noon, with a limit on open
// buckets; chunks are read at hour 1.
func TestOpenBound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		once   bool
		chunks [][]int
		late   uint64
		// open and sealed are the hours of the batches, "sealed" in order.
		sealed []int
		open   int
	}{
		{name: "within", chunks: [][]int{{0, 1, 2}}, open: 3},
		{name: "older gets the time read", chunks: [][]int{{0, 1, 2}, {-1}}, late: 1, open: 3},
		{name: "within one chunk", chunks: [][]int{{0, 1, 2, -1, -1, -5}}, late: 3, open: 3},
		{name: "newer seals the oldest", chunks: [][]int{{0, 2, 3}, {0}, {4}}, sealed: []int{0}, open: 3},
		{name: "between seals too", chunks: [][]int{{0, 1, 3}, {2}}, sealed: []int{0}, open: 3},
		{name: "newer in one chunk", chunks: [][]int{{0, 1, 2, 3, 4}}, sealed: []int{0, 1}, open: 3},
		{name: "the time read needs a place", chunks: [][]int{{2, 3, 4}, {0}}, late: 1, sealed: []int{2}, open: 3},
		{name: "once", once: true, chunks: [][]int{{0, 1, 2, 3, 4}, {-1, -2}}, open: 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, buffer.Options{MaxOpen: 3, Once: test.once, FlushInterval: -1})
			records := 0
			for _, at := range test.chunks {
				mustAppend(t, b, chunk(hours(at...)...))
				records += len(at)
			}
			s := b.Stats()
			if s.Late != test.late || s.Open != test.open || s.Waiting != len(test.sealed) {
				t.Fatalf("%+v, want %d late, %d open, %d sealed", s, test.late, test.open, len(test.sealed))
			}
			for _, h := range test.sealed {
				if got := next(t, b).BucketStart.Sub(noon).Hours(); got != float64(h) {
					t.Errorf("sealed hour %v, want %d", got, h)
				}
			}
			b.Drain(t.Context())
			for _, batch := range rest(t, b) {
				if got := int(batch.BucketStart.Sub(noon).Hours()); got < -1 && !test.once {
					t.Errorf("a batch of hour %d, which must not be opened", got)
				}
			}
			if s := b.Stats(); int(s.Records) != records || s.Failed != 0 {
				t.Errorf("%+v, want %d records", s, records)
			}
		})
	}
}

// Late records are logged once for each service, and get the exact time they were read.
func TestLateRecordsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := open(t, buffer.Options{MaxOpen: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	read := noon.Add(90*time.Minute + 123456789)
	for _, service := range []string{"web", "web", "api"} {
		mustAppend(t, b, buffer.Chunk{Service: service, Records: hours(1)})
		mustAppend(t, b, buffer.Chunk{Service: service, Read: read.UnixNano(), Records: hours(-1, 0)})
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 2 {
		t.Errorf("logged %d times, want once for each of 2 services:\n%s", got, log.String())
	}
	b.Drain(t.Context())
	late := 0
	for _, batch := range rest(t, b) {
		for _, r := range batch.records {
			switch r.Time {
			case read.UnixNano():
				late++
			case noon.Add(time.Hour).UnixNano():
			default:
				t.Errorf("a record has the time %v", time.Unix(0, r.Time).UTC())
			}
		}
	}
	if late != 6 || b.Stats().Late != 6 {
		t.Errorf("%d records have the time read and %d are counted, want 6", late, b.Stats().Late)
	}
}
