package tableindex_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// openTables are the tables of a local store in a folder of the test's own.
func openTables(t *testing.T) store.Tables {
	t.Helper()
	return storetest.OpenLocal(t).Tables()
}

// at is a time written in RFC 3339.
func at(tb testing.TB, s string) time.Time {
	tb.Helper()
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// newOutput is an entity of an output of compaction.
func newOutput(service string, generation int, times ...time.Time) tableindex.Entity {
	r := newEntity(service, blobnaming.OutputInstance, "", uint64(generation), times...)
	r.Name = blobnaming.OutputName(service, times[0], "", generation)
	r.Meta.Footer, r.Meta.Origins = 900, 800
	return r
}

// newEntity is an entity of one record a minute at each of the times, which lie in one hour.
func newEntity(service, instance, class string, number uint64, times ...time.Time) tableindex.Entity {
	r := tableindex.Entity{
		Name: blobnaming.Name{Service: service, Bucket: times[0].UTC().Truncate(time.Hour), Number: number},
		Meta: blobnaming.Metadata{
			Start:    times[0].UnixNano(),
			End:      times[len(times)-1].UnixNano(),
			Records:  uint64(len(times)),
			RawBytes: 100 * uint64(len(times)),
			Levels:   record.Counts{record.Info: uint64(len(times))},
			Batch:    blobnaming.Batch{byte(number), byte(number >> 8), 1},
			Instance: instance,
			Seq:      times[0].UnixNano(),
			Class:    class,
			Footer:   900,
		},
		ETag: "0x8DC0FFEE",
		Size: 1000,
	}
	for _, t := range times {
		minute := t.Unix() - t.Unix()%60
		if n := len(r.Minutes); n == 0 || r.Minutes[n-1].Start != minute {
			r.Minutes = append(r.Minutes, record.Minute{Start: minute})
		}
		r.Minutes[len(r.Minutes)-1].Levels[record.Info]++
	}
	return r
}
