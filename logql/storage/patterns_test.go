package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/logql/storage"
	"logstow/record"
)

// Patterns are those of the records that match, also where they share an output of compaction with others.
func TestPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	shipAll := func(instance string, level record.Level, text string, n, minute int) {
		records := minuteRecords(minute, n, text)
		for i := range records {
			records[i].Level = level
			records[i].Source = fmt.Sprint("s", i%2)
		}
		w.ship("api", instance, records...)
	}
	shipAll("a-0", record.Info, "request served in", 50, 0)
	shipAll("a-0", record.Warn, "cache is full", 40, 1)
	shipAll("b", record.Error, "cannot connect to", 20, 1)
	shipAll("b", record.Error, "cannot connect to", 10, 2)
	minute := func(n int, count float64) string {
		return fmt.Sprint(origin().Add(time.Duration(n)*time.Minute).Unix(), " ", count, ";")
	}
	for range 2 {
		for _, c := range []struct {
			query string
			limit int
			want  []string
		}{
			{`{service_name="api"}`, 10, []string{
				"request served in <_> info " + minute(0, 50), "cache is full <_> warn " + minute(1, 40), "cannot connect to <_> error " + minute(1, 20) + minute(2, 10),
			}},
			{`{service_name="api",instance="b"}`, 1, []string{"cannot connect to <_> error " + minute(1, 20) + minute(2, 10)}},
			{`{service_name="api",instance="b",source="s0"}`, 1, []string{"cannot connect to <_> error " + minute(1, 10) + minute(2, 5)}},
			{`{service_name="api",level="warn"}`, 1, []string{"cache is full <_> warn " + minute(1, 40)}},
			{`{service_name="api",instance="c"}`, 1, nil},
		} {
			found, err := w.view(storage.Access{}).Patterns(t.Context(), parse(t, c.query).Matchers, origin().UnixNano(), origin().Add(time.Hour).UnixNano(), time.Minute, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range found {
				text := p.Pattern + " " + p.Level + " "
				for _, point := range p.Counts {
					text += fmt.Sprint(point.Time/1e9, " ", point.Value, ";")
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", c.query, diff)
			}
		}
		w.compact()
	}
}
