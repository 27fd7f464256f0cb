package storage_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/query/patterns"
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

// Each pattern, used as a line filter, finds at least the records that it counts, whatever the lines are.
func TestPatternsAreLineFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	kinds := map[string][]string{
		"json": {
			`{"time":"2024-05-06T22:00:%02dZ","level":"info","msg":"request served in %dms","status":200}`,
			`{"msg": "said \"no\" %d times to C:\\x","n":%d}`,
			`{"level":"warn","request":"request","message":"größe of request %d: %d"}`,
			`{"a":%d,"b":{"c":"text %d"},"d":[1,2]}`,
			`{"msg":"%d %d"}`,
			`{"msg":"wrapped\n  in lines %d","x":%d}`,
			`{"log":"level=info msg=\"inner %d done\" n=%d"}`,
			`2024-05-06 INFO {"event":"shipped order %d","n":"%d"}`,
		},
		"logfmt": {
			`ts=%d level=info msg="cache miss for key %d" took=5ms`,
			`ts=%d level=info took=%dms msg=started`,
			`level=info msg="say \"hi\" to %d" n=%d`,
			`level=debug took=%dms path=/cart/%d`,
		},
		"text": {
			"Connection from 10.0.0.%d closed by <user> after %d s",
			"   indented   with   blanks %d %d",
			"panic: runtime error %d\n\tat main.go:%d",
			"%d %d",
			"<_> and <name> and <9> of %d <%d>",
			"-> <tag><tag> %d <%d",
			"\x1b[31mred\x1b[0m line %d of %d",
			"bad \xff byte %d %d",
			"quoted \"text %d\" and `back %d`",
			"Jun  %d combo sshd[%d]: session opened for user root",
			"a<_%d a<b%d>",
			"tail %d %d  ",
		},
	}
	lines := map[string]int{}
	minute := 0
	for _, service := range slices.Sorted(maps.Keys(kinds)) {
		for _, layout := range kinds[service] {
			var records []record.Record
			for i := range 20 {
				at := origin().Add(time.Duration(minute)*time.Minute + time.Duration(i)*time.Second)
				records = append(records, record.Record{Time: at.UnixNano(), Level: record.Info, Source: "app", Message: fmt.Appendf(nil, layout, i+1, 100*i+17)})
			}
			lines[service] += len(records)
			minute++
			w.ship(service, "a", records...)
		}
	}
	from, to := origin().UnixNano(), origin().Add(time.Hour).UnixNano()
	for service := range kinds {
		selector := fmt.Sprintf(`{service_name=%q}`, service)
		found, err := w.view(storage.Access{}).Patterns(t.Context(), parse(t, selector).Matchers, from, to, time.Hour, 300)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, p := range found {
			t.Log(service, p.Counts[0].Value, p.Pattern)
			want := int(p.Counts[0].Value)
			counted += want
			if p.Pattern == patterns.Wildcard {
				t.Errorf("%s: a pattern that matches every line", service)
			}
			got, err := answer(t.Context(), w.view(storage.Access{}), parse(t, selector+" |> "+strconv.Quote(p.Pattern)), engine.LogParams{From: from, To: to})
			if err != nil || len(got) < want {
				t.Errorf("%s |> %q finds %d records, %d were counted; error %v", selector, p.Pattern, len(got), want, err)
			}
		}
		if most := lines[service] * 9 / 10; counted < most {
			t.Errorf("%s: the patterns count %d records, want at least %d of %d", service, counted, most, lines[service])
		}
	}
}
