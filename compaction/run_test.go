package compaction_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// A fleet's days become an output for each class, and read the same: before, with the inputs, without them,
// with late segments, and after another generation.
func TestCompact(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := openStore(t)
	web, audited := newFleet(t, s, rnd, "web"), newFleet(t, s, rnd, "web")
	audited.class, audited.number = "audit", 5000
	other := newFleet(t, s, rnd, "other")
	for h := range 3 {
		web.fill(hour().Add(time.Duration(h)*time.Hour), 7, 60)
	}
	audited.fill(hour(), 2, 20)
	other.fill(hour(), 1, 5)
	copied := web.segment("pod-1", hour(), time.Hour, 50)
	web.store(copied)
	copied.name.Number = 7000
	web.store(copied)
	want := readAll(t, s)

	same := func(when string) {
		t.Helper()
		if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
			t.Fatalf("%s (-before +after):\n%s", when, diff)
		}
	}
	o := options(t)
	o.DryRun = true
	planned := run(t, s, o)
	if got := len(names(t, s)); planned.Outputs != 3 || planned.Inputs != 206 || got != 207 {
		t.Errorf("%+v of %d blobs", planned, got)
	}
	o.DryRun, o.KeepInputs = false, true
	made := run(t, s, o)
	if made.Outputs != 3 || made.Inputs != 206 || made.Removed != 0 || made.Chains != 3 || made.Services != 2 || made.BytesIn != planned.BytesIn {
		t.Errorf("%+v", made)
	}
	same("with inputs")
	o.KeepInputs, o.Grace = false, time.Hour
	if young := run(t, s, o); young.Outputs != 0 || young.Removed != 0 || young.Young != 207 {
		t.Errorf("%+v", young)
	}
	o.Grace = 0
	if removed := run(t, s, o); removed.Outputs != 0 || removed.Removed != 207 {
		t.Errorf("%+v", removed)
	}
	same("without inputs")
	if all := names(t, s); len(all) != 3 {
		t.Errorf("%q remain", all)
	}

	// A late one stays as it is, unless there are more.
	o.Limits.LateAge = 24 * time.Hour
	web.store(web.segment("pod-9", hour(), time.Hour, 50))
	want = readAll(t, s)
	if report := run(t, s, o); report.Outputs != 0 {
		t.Errorf("%+v", report)
	}
	web.fill(hour(), 3, 7)
	// A batch that was stored once more, after it was removed.
	web.store(copied)
	want = readAll(t, s)
	if report := run(t, s, o); report.Outputs != 1 || report.Inputs != 8 || report.Removed != 9 {
		t.Errorf("%+v", report)
	}
	same("second generation")
	if all := names(t, s); len(all) != 4 {
		t.Errorf("%q remain", all)
	}
	if report := run(t, s, o); report.Outputs+report.Removed != 0 || report.Requests.Create+report.Requests.Delete+report.Requests.Get > 0 {
		t.Errorf("nothing is left to do, but: %+v", report)
	}
	// The index matches what is stored.
	report, err := audit.Verify(t.Context(), s, audit.Options{Depth: audit.Blocks, OnDifference: func(d audit.Difference) { t.Errorf("%+v", d) }})
	if err != nil || report.Err() != nil || report.Entities != 4 || report.Blobs != 4 {
		t.Errorf("%+v, error %v", report, err)
	}
}

// One run merges all segments of a day that has ended, whatever the number of outputs.
func TestCompactWholeDay(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 2, 10)
	o := options(t)
	o.Limits = compaction.DefaultLimits()
	o.Limits.Inputs = 3
	if report := run(t, s, o); report.Outputs != 4 || report.Inputs != 10 {
		t.Errorf("%d outputs of %d segments, want 4 of 10", report.Outputs, report.Inputs)
	}
}

// Services are selected by name and by glob, as in queries.
func TestServices(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := openStore(t)
	for _, service := range []string{"api", "web", "web-2", "other"} {
		newFleet(t, s, rnd, service).fill(hour(), 2, 5)
	}
	for _, c := range []struct {
		services []string
		want     int
	}{{nil, 4}, {[]string{"api"}, 1}, {[]string{"web*"}, 2}, {[]string{"{api,web}", "o?her"}, 3}, {[]string{"w"}, 0}} {
		o := options(t)
		o.DryRun, o.Services = true, c.services
		if report := run(t, s, o); report.Services != c.want {
			t.Errorf("%q: %d services, want %d", c.services, report.Services, c.want)
		}
	}
}

// The merge in little memory, through runs in the temporary file, makes the same bytes.
func TestSpill(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compacts with little memory")
	rnd := testrand.New(t)
	s := openStore(t)
	f := newFleet(t, s, rnd, "web")
	for i := range 40 {
		f.store(f.segment(fmt.Sprintf("pod-%d", i%4), hour(), time.Hour, 200))
	}
	want := readAll(t, s)
	var first []byte
	for _, memory := range []int64{0, 100_000, 5000, 1} {
		o := options(t)
		o.KeepInputs = true
		compaction.SetMemory(&o, memory)
		if report := run(t, s, o); report.Outputs != 1 {
			t.Fatalf("%+v", report)
		}
		segments, _ := list(t, s)
		i := slices.IndexFunc(segments, func(s catalog.Segment) bool { return s.Meta.IsOutput() })
		body, err := half(s, segments[i]).Read(t.Context(), segments[i].Ref(), 0, segments[i].Size)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = body
		}
		if string(body) != string(first) {
			t.Errorf("with %d bytes of memory another output is made", memory)
		}
		if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
			t.Errorf("%d bytes: %s", memory, diff)
		}
		if err := deleteAll(t.Context(), s, segments[i].Name.String()); err != nil {
			t.Fatal(err)
		}
	}
}

// Inputs that are not read whole in one request: footers, then block by block.
func TestLargeInputs(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "merges 7 MB")
	rnd := testrand.New(t)
	s := openStore(t)
	f := newFleet(t, s, rnd, "web")
	for i := range 3 {
		f.store(f.segment(fmt.Sprintf("pod-%d", i), hour(), time.Hour, 50))
		f.padding = 1000
		f.store(f.segment(fmt.Sprintf("pod-%d", i), hour(), time.Hour, 2500))
		f.padding = 0
	}
	want := readAll(t, s)
	report := run(t, s, options(t))
	if report.Outputs != 1 || report.Inputs != 6 || report.BytesIn < 4<<20 || report.Requests.Get < 100 {
		t.Errorf("%+v", report)
	}
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestMaxCost(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, testrand.New(t), "web")
	f.fill(hour(), 3, 30)
	f.fill(hour().AddDate(0, 0, 1-2), 3, 30)
	want := readAll(t, s)
	o := options(t)
	o.MaxCost = 40e-6 // more than the listings, less than the requests of one day
	report, err := compaction.Run(t.Context(), s, o)
	if !errors.Is(err, compaction.ErrCost) || report.Complete || report.Outputs != 1 || report.Removed != 30 {
		t.Errorf("error %v, %+v", err, report)
	}
	wants(t, s, want)
}
