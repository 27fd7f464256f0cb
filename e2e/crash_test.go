package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/crashpoint"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
	"logstow/store"
	"logstow/store/open"
)

// crashKills is how often the crash tests kill, all together: LOGSTOW_CRASH_KILLS.
func crashKills(t *testing.T) int {
	t.Helper()
	v := os.Getenv("LOGSTOW_CRASH_KILLS")
	if v == "" {
		return effort.Cases{Test: 10, Full: 50}.N()
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("LOGSTOW_CRASH_KILLS=%s: want a number from 1", v)
	}
	return n
}

// pointNames finds the named points in the source, so that new ones are covered by themselves. Those
// of compaction are not shipper run's: the tests of package compaction kill there.
func pointNames(t *testing.T) []string {
	t.Helper()
	call := regexp.MustCompile(`crashpoint\.Here\("([^"]+)"\)`)
	var names []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range call.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "compact.") })
	slices.Sort(names)
	if same := slices.Compact(slices.Clone(names)); len(same) != len(names) {
		t.Errorf("crash points have to have names of their own: %s", names)
	}
	if len(names) == 0 {
		t.Error("the source has no crash points")
	}
	return names
}

// TestCrash kills the shipper while files are written, rotated and shipped, at
// random instants and at named points, with storage's answers going wrong. In
// the end each line is found exactly once.
func TestCrash(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"local", "Azurite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name == "Azurite")
			stop := r.write()
			r.crash(crashKills(t)*2/5, pointNames(t), i, func() []string { return nil })
			want := stop()
			r.settle(r.glob())
			r.check(want)
			r.stored(len(want))
		})
	}
}

// stored checks that storage holds so many records: none twice, not even where
// readers would drop the repeat.
func (r *rig) stored(want int) {
	r.t.Helper()
	st := r.openStore()
	defer st.Close()
	var got uint64
	for page, err := range st.Blobs().List(r.t.Context(), "crash/") {
		if err != nil {
			r.t.Fatal(err)
		}
		for _, blob := range page {
			meta, err := blobnaming.ParseMetadata(blob.Metadata)
			if err != nil {
				r.t.Fatal(err)
			}
			got += meta.Records
		}
	}
	if got != uint64(want) {
		r.t.Errorf("%d records are stored of %d lines", got, want)
	}
}

// openStore opens the rig's store, which the caller must close.
func (r *rig) openStore() store.Store {
	r.t.Helper()
	getenv := func(name string) string {
		for _, v := range r.env {
			if key, value, _ := strings.Cut(v, "="); key == name {
				return value
			}
		}
		return ""
	}
	st, err := open.Store(r.t.Context(), r.store, open.Options{Getenv: getenv})
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

// crash starts and kills shippers. more gives each further arguments.
func (r *rig) crash(kills int, points []string, half int, more func() []string) {
	r.t.Helper()
	bin := armedShipper(r.t)
	r.rnd.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	next := len(points) * half / 2 // so that few kills on two stores meet all points
	for r.kills < kills && !r.t.Failed() {
		if r.proxy != nil && r.rnd.IntN(6) == 0 {
			r.outage()
		} else {
			r.faults(r.rnd.Float64() * 0.3)
		}
		args := r.args(append(r.draw(), more()...)...)
		args = append(args, r.glob())
		switch pick := r.rnd.IntN(10); {
		case pick < 1:
			r.stopOne(bin, args)
		case pick < 4 || len(points) == 0:
			r.killAt(bin, r.instant(), args)
		default:
			r.killPoint(bin, points[next%len(points)], args)
			next++
		}
	}
	missed := slices.DeleteFunc(slices.Clone(points), func(p string) bool {
		return r.hits[p] > 0 || strings.HasPrefix(p, "quarantine.") // nothing is damaged here
	})
	slices.Sort(missed)
	r.t.Logf("%d kills, at named points: %v; not met: %v", r.kills, hitList(r.hits), missed)
	if len(missed) > 0 && kills >= 4*len(points) {
		r.t.Errorf("in %d kills these points were never passed: %v", kills, missed)
	}
	if r.proxy != nil {
		c := r.proxy.Counts()
		r.t.Logf("requests: %v; faults: %v", c.Requests, c.Faults)
	}
}

func hitList(hits map[string]int) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(hits)) {
		fmt.Fprintf(&b, "%s=%d ", k, hits[k])
	}
	return b.String()
}

// draw chooses settings that every run may have anew.
func (r *rig) draw() []string {
	choose := func(values ...string) string { return values[r.rnd.IntN(len(values))] }
	return []string{
		"--sync", choose("always", "1s", "never"),
		"--flush-interval", choose("100ms", "200ms", "1s", "30s"),
		"--flush-size", choose("4KiB", "16KiB", "64KiB"),
		"--drain-timeout", choose("10ms", "300ms", "2s"),
	}
}

// instant is how long a shipper lives: often hardly until it has read its buffer.
func (r *rig) instant() time.Duration {
	ranges := []time.Duration{60 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
	return time.Duration(r.rnd.Int64N(int64(ranges[r.rnd.IntN(len(ranges))])))
}

// killAt kills a shipper after a while.
func (r *rig) killAt(bin string, after time.Duration, args []string) {
	r.t.Helper()
	p := r.start(bin, nil, args...)
	select {
	case <-p.ended:
	case <-time.After(after):
		p.kill(r.t)
	}
	r.died(p, "", args)
}

// killPoint lets a shipper die at a named point, or after some seconds if it
// does not come there. A point that was missed is given more time and a quiet storage.
func (r *rig) killPoint(bin, point string, args []string) {
	r.t.Helper()
	at := point
	missed := r.missed[point]
	switch {
	case missed > 0:
		r.faults(0)
	case r.rnd.IntN(2) == 0:
		at += ":" + strconv.Itoa(1+r.rnd.IntN(6))
	}
	p := r.start(bin, []string{crashpoint.Env + "=" + at}, args...)
	select {
	case <-p.ended:
		r.died(p, point, args)
	case <-time.After(min(2500*time.Millisecond<<missed, 10*time.Second)):
		r.missed[point]++
		p.kill(r.t)
		r.died(p, "", args)
	}
}

// died counts a kill, and finds programs that ended by themselves.
func (r *rig) died(p *process, point string, args []string) {
	r.t.Helper()
	if !p.killed() {
		r.t.Fatalf("after %d kills, shipper %s\nended by itself with status %d, output:\n%s", r.kills, strings.Join(args, " "), p.status(), p.tail())
	}
	r.kills++
	if point != "" {
		r.hits[point]++
	}
}

// stopOne lets a shipper end as it likes to; with faults it may not store all in time.
func (r *rig) stopOne(bin string, args []string) {
	r.t.Helper()
	p := r.start(bin, nil, args...)
	time.Sleep(r.instant()) // it is interrupted at any moment
	p.signal(r.t, os.Interrupt)
	p.end(r.t, patience)
	if s := p.status(); s != 0 && s != 3 && s != 130 && s != -1 {
		r.t.Fatalf("interrupted, shipper %s\nended with status %d, output:\n%s", strings.Join(args, " "), s, p.tail())
	}
}

// check reads everything back, in each way that there is. Lines that were read as two are so in want then.
func (r *rig) check(want map[string]bool, stores ...string) {
	r.t.Helper()
	if len(want) == 0 {
		r.t.Error("nothing was written")
	}
	flags := []string{"logq", "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache"}
	for _, s := range stores {
		flags = append(flags, "--store", s)
	}
	for _, plan := range []string{"auto", "index"} {
		got := r.must(r.t, append(flags, "--plan", plan)...)
		for whole, parts := range r.cut {
			if want[whole] && !bytes.Contains(got, []byte(whole+"\n")) {
				delete(want, whole)
				want[parts[0]], want[parts[1]] = true, true
			}
		}
		unique(r.t, want, got)
		if r.t.Failed() {
			r.t.Fatalf("with --plan %s", plan)
		}
	}
	r.t.Logf("%d lines", len(want))
}

// lossy are faults of creates alone: each was applied, and the answer is lost.
// There are none on the local store.
func (r *rig) lossy(chance float64) {
	if r.proxy == nil {
		return
	}
	if err := r.proxy.Up(); err != nil {
		r.t.Fatal(err)
	}
	r.proxy.SetRules(
		faultproxy.Rule{Match: faultproxy.Of(faultproxy.CreateBlob), Chance: chance, Faults: faultproxy.Lossy()},
		faultproxy.Rule{Chance: chance / 4},
	)
}
