package compaction_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
)

// flip changes a bit of a stored blob.
func flip(t *testing.T, s store.Store, name string, bit func(size int64) int64) {
	t.Helper()
	for page, err := range catalogtest.Container(s, name).List(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			body, err := catalogtest.Container(s, name).Read(t.Context(), b.Ref(), 0, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			at := bit(b.Size)
			body[at/8] ^= 1 << (at % 8)
			if err := catalogtest.Container(s, name).Delete(t.Context(), []store.BlobRef{b.Ref()}); err != nil {
				t.Fatal(err)
			}
			if _, err := catalogtest.Container(s, name).Create(t.Context(), b.Name, body, store.CreateOptions{Metadata: b.Metadata}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The damage is in a block, which is in the first half of a segment: that of a token filter behind it does not
// matter, as the output gets another.
func TestDamagedInputIsLeftAndNamed(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := openStore(t)
	newFleet(t, s, rnd, "web").fill(hour(), 3, 30)
	segments, _ := list(t, s)
	damaged := segments[7].Name.String()
	// Anywhere in the blocks: the token filter of an input is not read.
	flip(t, s, damaged, func(int64) int64 { return rnd.Int64N((segments[7].Meta.Filter.Offset - 8) * 8) })
	report, err := compaction.Run(t.Context(), s, options(t))
	if err != nil || report.Err() != nil {
		t.Errorf("error %v, problems %v", err, report.Err())
	}
	if report.Outputs != 1 || report.Inputs != 29 || report.Removed != 29 || !slices.Equal(report.Damaged, []string{damaged}) {
		t.Errorf("%+v", report)
	}
	if all := names(t, s); len(all) != 2 || !slices.Contains(all, damaged) {
		t.Errorf("%q remain", all)
	}
}

// Whatever bit of an output is wrong, nothing is removed; rejected, it is made anew.
func TestDamagedOutputHalts(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many outputs")
	rnd := testrand.New(t)
	for name, region := range map[string]func(m blobnaming.Metadata, size int64) (from, to int64){
		"blocks": func(m blobnaming.Metadata, _ int64) (from, to int64) { return 0, m.Filter.Offset - 8 },
		"filter": func(m blobnaming.Metadata, _ int64) (from, to int64) {
			return m.Filter.Offset - 8, m.Filter.Offset + 100
		},
		"pages":   func(m blobnaming.Metadata, _ int64) (from, to int64) { return m.Origins - 20, m.Origins },
		"list":    func(m blobnaming.Metadata, _ int64) (from, to int64) { return m.Origins, m.Footer },
		"footer":  func(m blobnaming.Metadata, size int64) (from, to int64) { return m.Footer, size - 16 },
		"trailer": func(_ blobnaming.Metadata, size int64) (from, to int64) { return size - 16, size },
	} {
		from := rnd.Float64()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			rnd := testrand.New(t)
			f := newFleet(t, s, rnd, "web")
			f.fill(hour(), 3, 30)
			newFleet(t, s, rnd, "other").fill(hour(), 3, 5)
			want := readAll(t, s)
			o := options(t)
			o.KeepInputs = true
			run(t, s, o)
			segments, _ := list(t, s)
			i := slices.IndexFunc(segments, func(s catalog.Segment) bool { return s.Meta.IsOutput() && s.Name.Service == "web" })
			output := segments[i]
			first, last := region(output.Meta, output.Size)
			flip(t, s, output.Name.String(), func(int64) int64 { return first*8 + int64(from*float64((last-first)*8)) })

			report, err := compaction.Run(t.Context(), s, options(t))
			if err != nil || !errors.Is(report.Err(), compaction.ErrDamaged) || len(report.Halted) != 1 || !strings.HasPrefix(report.Halted[0], "web/") {
				t.Fatalf("error %v, problems %v, %+v", err, report.Err(), report)
			}
			if report.Outputs != 0 || report.Removed != 5 {
				t.Errorf("%+v", report)
			}
			if err := compaction.Reject(t.Context(), s, output.Name.String()); err != nil {
				t.Fatal(err)
			}
			again := run(t, s, options(t))
			if again.Outputs != 1 || again.Inputs != 30 || again.Removed != 30 {
				t.Errorf("%+v", again)
			}
			if all := names(t, s); len(all) != 4 { // other's output, web's second, the rejected one and its marker
				t.Errorf("%q remain", all)
			}
			if err := deleteAll(t.Context(), s, output.Name.String()); err != nil { // it cannot be read
				t.Fatal(err)
			}
			wants(t, s, want)
		})
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 3, 30)
	want := readAll(t, s)
	o := options(t)
	o.KeepInputs = true
	run(t, s, o)
	output := blobnaming.OutputName("web", hour(), "", 1)
	for range 2 { // again is no error
		if err := compaction.Reject(t.Context(), s, output.String()); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, s, want)
	if r := run(t, s, options(t)); r.Outputs != 1 || r.Removed != 30 {
		t.Errorf("%+v", r)
	}
	wants(t, s, want)

	second := blobnaming.OutputName("web", hour(), "", 2)
	for name, wrong := range map[string]error{
		second.String(): compaction.ErrInputsGone,
		blobnaming.OutputName("web", hour(), "", 3).String():                               store.ErrNotFound,
		blobnaming.Name{Service: "web", Bucket: hour().Add(time.Hour), Number: 1}.String(): nil,
		"x": nil,
	} {
		err := compaction.Reject(t.Context(), s, name)
		if err == nil || wrong != nil && !errors.Is(err, wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wants(t, s, want)
	// An input that is removed just before the marker is there.
	third := openStore(t)
	newFleet(t, third, testrand.New(t), "web").fill(hour(), 3, 30)
	run(t, third, o)
	f := &faulty{Store: third, create: func(_ string, do func() (string, error)) (string, error) {
		run(t, third, options(t))
		return do()
	}}
	if err := compaction.Reject(t.Context(), f, output.String()); !errors.Is(err, compaction.ErrInputsGone) {
		t.Errorf("error %v", err)
	}
	if all := names(t, third); len(all) != 1 {
		t.Errorf("%q remain", all)
	}
}

// What is under an output's name and no output of the class halts it.
func TestNameInTheWay(t *testing.T) {
	t.Parallel()
	name := blobnaming.OutputName("web", hour(), "", 1)
	for what, metadata := range map[string]func(m map[string]string){
		"a plain segment": func(m map[string]string) { m["LogVersion"] = blobnaming.Version },
		"another class":   func(m map[string]string) { m["Class"] = "audit" },
		"no metadata":     func(m map[string]string) { clear(m) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			f := newFleet(t, s, testrand.New(t), "web")
			f.fill(hour(), 3, 30)
			p := f.segment("pod-1", hour(), time.Hour, 5)
			p.meta.Origins = 1
			m := p.meta.Encode()
			metadata(m)
			if _, err := catalogtest.Container(s, name.String()).Create(t.Context(), name.String(), p.body, store.CreateOptions{Metadata: m}); err != nil {
				t.Fatal(err)
			}
			report, err := compaction.Run(t.Context(), s, options(t))
			if err != nil || report.Err() == nil || len(report.Halted) != 1 || report.Outputs+report.Removed != 0 {
				t.Errorf("error %v, problems %v, %+v", err, report.Err(), report)
			}
			if len(names(t, s)) != 31 {
				t.Error("something is gone")
			}
		})
	}
}
