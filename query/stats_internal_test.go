package query

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/message"
	"logstow/query/aggregate"
	"logstow/query/stats"

	"github.com/google/go-cmp/cmp"

	"logstow/field"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// Whatever is counted by whatever, it is what counting every record gives. The limit does not apply.
func TestStatsAgreeWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	zones := []*time.Location{time.UTC, time.FixedZone("x", 5*3600+45*60), time.FixedZone("y", -3*3600-30*60)}
	names := []string{"level", "minute", "hour", "day", "1s", "250ms", "90s", "service", "source", "time", "message", "ab", "k1", `field("level")`, "message.message"}
	for range worlds(25) {
		w := newWorld(t, rnd, false)
		w.fill(rnd.IntN(30))
		for range 20 {
			sel := w.selection()
			if rnd.IntN(2) == 0 { // what footers answer
				sel.Patterns, sel.Regexps, sel.Excludes, sel.Where, sel.Sources = nil, nil, nil, nil, nil
			}
			var by []string
			for range rnd.IntN(4) {
				by = append(by, names[rnd.IntN(len(names))])
			}
			if _, err := field.ParseNames(by); err != nil {
				continue // the same twice
			}
			zone := zones[rnd.IntN(len(zones))]
			want := map[string]uint64{}
			all := sel
			all.Limit = 0
			lines := w.want(&all)
			for _, l := range lines {
				want[strings.Join(keyOf(t, l, by, zone), "|")]++
			}
			q := w.query(sel, Options{})
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stats := countBy(t, q, p, by, zone)
			if n, err := q.Count(t.Context(), p); err != nil || n != uint64(len(lines)) {
				t.Fatalf("%+v: counted %d of %d, %v", sel, n, len(lines), err)
			}
			got := map[string]uint64{}
			for _, row := range stats.Rows {
				got[strings.Join(row.Key, "|")] += row.Count
			}
			if diff := cmp.Diff(want, got); diff != "" || stats.Total != uint64(len(lines)) {
				t.Fatalf("%+v by %v, total %d (-reference +stats)\n%s\n%v", sel, by, stats.Total, diff, q.Report().Problems)
			}
		}
	}
}

// keyOf is the group of a line of world.want.
func keyOf(t testing.TB, line string, by []string, zone *time.Location) (key []string) {
	t.Helper()
	service, line, _ := strings.Cut(line, " ")
	f, ok := record.Split([]byte(line))
	if !ok {
		t.Fatalf("%q", line)
	}
	at, err := time.Parse(time.RFC3339Nano, line[:record.TimeLen])
	if err != nil {
		t.Fatal(err)
	}
	at = at.In(zone)
	for _, name := range by {
		switch name {
		case "level":
			key = append(key, f.Level.String())
		case "service":
			key = append(key, service)
		case "source":
			key = append(key, string(f.Source))
		case "minute":
			key = append(key, at.Format("2006-01-02T15:04:00Z07:00"))
		case "1s", "250ms", "90s":
			length := map[string]time.Duration{"1s": time.Second, "250ms": 250 * time.Millisecond, "90s": 90 * time.Second}[name]
			midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, zone)
			layout := time.RFC3339
			if length < time.Second {
				layout = "2006-01-02T15:04:05.000Z07:00"
			}
			key = append(key, midnight.Add(at.Sub(midnight).Truncate(length)).Format(layout))
		case "time":
			key = append(key, line[:record.TimeLen])
		case "message":
			key = append(key, string(record.AppendMessage(nil, f.Raw)))
		case "hour":
			key = append(key, at.Format("2006-01-02T15:00:00Z07:00"))
		case "day":
			key = append(key, at.Format("2006-01-02T00:00:00Z07:00"))
		default:
			own := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "message."), `field("`), `")`)
			v := querytest.Field(fieldAttributes(name, f.Attributes), record.AppendMessage(nil, f.Raw), own)
			if v.Kind == message.Missing || v.Kind == message.Null {
				v.Text = []byte("-")
			}
			key = append(key, string(v.Text))
		}
	}
	return key
}

// What footers answer reads no block.
func TestStatsReadNoBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	w.fill(20)
	for _, by := range [][]string{{"level"}, {"service", "minute"}, {"hour", "level"}, nil} {
		sel := querytest.Everything()
		sel.To = sel.To.AddDate(100, 0, 0)
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stats := countBy(t, q, p, by, nil)
		if r := q.Report(); r.BlocksRead > 0 || stats.Total < 100 {
			t.Errorf("by %v: %d blocks read, %d records", by, r.BlocksRead, stats.Total)
		}
	}
}

// Functions of the level alone read no block; others do.
func TestFunctionsReadNoBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	w.fill(20)
	for compute, reads := range map[string]bool{
		`count, rate, share, ratio(level >= "warn"), count(service == "svc-1" and level == "info")`: false,
		`ratio(source == "app/1.log")`: true, `count(time > "2026-01-01T00:00:01Z")`: true, `count(has(ab))`: true,
		`count(message contains "a")`: true, `distinct(level)`: true, `first(service)`: true,
	} {
		sel := querytest.Everything()
		sel.To = sel.To.AddDate(100, 0, 0)
		w.gotFunctions(sel, Options{}, []string{"service", "hour"}, []string{compute})
		if read := w.last.Report().BlocksRead > 0; read != reads {
			t.Errorf("%s: blocks are read: %v", compute, read)
		}
	}
}

// A damaged block is reported, and the others are computed from.
func TestFunctionsOfDamagedBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	var records []record.Record
	for i := range 100 {
		records = append(records, record.Record{Time: origin().UnixNano() + int64(i), Message: []byte(`{"k1":5}`)})
	}
	b := w.add("svc", "pod", 500, w.salt(), records)
	b.bodies[0][10] ^= 1
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	compute := []string{"count", "sum(k1)"}
	want := w.wantFunctions(&sel, nil, compute)
	got := w.gotFunctions(sel, Options{}, nil, compute)
	if diff := cmp.Diff(want, got); diff != "" || got[""] == "100|500" {
		t.Errorf("%v (-reference +stats)\n%s", got, diff)
	}
	if problems := w.last.Report().Problems; len(problems) != 1 {
		t.Errorf("problems: %v", problems)
	}
}

// A query that is cancelled, or cannot write its temporary files, returns the reason and leaves no files.
func TestFunctionsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	for n := range 30 {
		var records []record.Record
		for i := range 500 {
			records = append(records, record.Record{Time: origin().UnixNano() + int64(i), Message: fmt.Appendf(nil, `{"user":"user-%d"}`, n*1000+i)})
		}
		w.add("svc", "pod", 2000, w.salt(), records)
	}
	keys, err := aggregate.ParseBy([]string{"user"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := stats.Compile(aggregate.Spec{By: keys, Pivot: -1}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	reason := errors.New("interrupted")
	for name, dir := range map[string]string{"cancelled": t.TempDir(), "no directory": filepath.Join(t.TempDir(), "absent")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		q := w.query(sel, Options{GroupMemory: 1, TempDir: dir})
		p, err := q.Plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := os.ErrNotExist
		if name == "cancelled" {
			want = reason
			var reads atomic.Int64
			w.memory.fail = func(op, _ string) error {
				if op == "read" {
					if reads.Add(1) == 5 {
						cancel(reason)
					}
				}
				return nil
			}
		}
		table, err := q.Stats(ctx, p, c)
		if !errors.Is(err, want) || table != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.memory.fail = nil
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Errorf("%s: %v", name, files)
		}
		cancel(nil)
	}
}

// A segment that is in one period whole is counted by its metadata: nothing of it is read.
func TestStatsReadNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	for i := range 50 { // from 0, 10, 20, 30 or 40 minutes past the hour, for a quarter
		at := origin().Add(time.Duration(i)*time.Hour + time.Duration(i%5)*10*time.Minute)
		w.add("svc", "pod", 2000, w.salt(), []record.Record{
			{Time: at.UnixNano(), Message: []byte("a")}, {Time: at.Add(15 * time.Minute).UnixNano(), Message: []byte("b")},
		})
	}
	half := time.FixedZone("half past", 5*3600+1800) // where hours and days begin at half past
	for _, c := range []struct {
		by   string
		zone *time.Location
		want int64
	}{{"hour", nil, 0}, {"day", nil, 0}, {"level", half, 0}, {"hour", half, 10}} {
		sel := querytest.Everything()
		sel.To = sel.To.AddDate(100, 0, 0)
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stats := countBy(t, q, p, []string{c.by}, c.zone)
		if r := q.Report(); r.SegmentsRead != c.want || stats.Total != 100 {
			t.Errorf("by %s: %d segments read, not %d; %d records", c.by, r.SegmentsRead, c.want, stats.Total)
		}
	}
}
