package compaction_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/crashpoint"
	"logstow/internal/test/effort"
	"logstow/internal/test/programs"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/open"
)

// crashPoints are the named points in the source.
func crashPoints(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`crashpoint\.Here\("([^"]+)"\)`).FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	if len(names) < 8 {
		t.Fatalf("only %q", names)
	}
	return names
}

// crashWorld is a store whose compaction is killed, and what it must contain.
type crashWorld struct {
	t     *testing.T
	rnd   *rand.Rand
	dir   string
	bin   string
	s     store.Store
	fleet *fleet
	old   []plain // to be stored again
	kills int
}

func newCrashWorld(t *testing.T) *crashWorld {
	t.Helper()
	w := &crashWorld{t: t, rnd: testrand.New(t), dir: filepath.Join(t.TempDir(), "store")}
	bin, err := programs.Build(programs.Crashpoints, "logstow/compaction/testdata/compactor")
	if err != nil {
		t.Fatal(err)
	}
	w.bin = filepath.Join(bin, "compactor")
	if w.s, err = open.Store(t.Context(), w.dir, open.Options{Getenv: os.Getenv}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.fleet = newFleet(t, w.s, w.rnd, "web")
	return w
}

// grow stores late segments, a batch that was stored before, and one to be stored again later.
func (w *crashWorld) grow(n int) {
	h := hour().Add(-time.Duration(w.rnd.IntN(2)) * time.Hour)
	w.fleet.fill(h, 4, n)
	again := w.fleet.segment("pod-1", h, time.Hour, 20)
	w.fleet.store(again)
	w.old = append(w.old, again)
	again = w.old[w.rnd.IntN(len(w.old))]
	w.fleet.number++
	again.name.Number = w.fleet.number
	w.fleet.store(again)
}

// run runs a compactor until it ends or is killed: at a named point, or after a while.
func (w *crashWorld) run(point string, after time.Duration) {
	const most = 3 * time.Minute // one that hangs
	ctx, cancel := context.WithTimeout(w.t.Context(), cmp.Or(after, most))
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bin, w.dir)
	cmd.Env = append(os.Environ(), crashpoint.Env+"="+point)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	switch {
	case err == nil:
	case after == 0 && ctx.Err() != nil:
		w.t.Errorf("compactor does not end within %v: %s", most, &stderr)
	case strings.Contains(err.Error(), "killed"), errors.Is(err, context.DeadlineExceeded): // before it started
		w.kills++
	default:
		w.t.Errorf("compactor ended with %v: %s", err, &stderr)
	}
}

// verify compares the index with what is stored.
func (w *crashWorld) verify(what string) {
	w.t.Helper()
	var differences []string
	report, err := audit.Verify(w.t.Context(), w.s, audit.Options{
		Settle: time.Millisecond, OnDifference: func(d audit.Difference) { differences = append(differences, fmt.Sprint(d)) },
	})
	if err != nil || report.Err() != nil || len(differences) > 0 {
		w.t.Errorf("%s: %q, error %v", what, differences, errors.Join(err, report.Err()))
	}
}

// Killed at each named point, at random instants and beside another compaction, with late
// and repeated segments, nothing is lost and nothing is there twice; a last run leaves only
// outputs and single late segments.
func TestLongKill(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "kills a program without the race detector")
	random, rounds := effort.Cases{Test: 2, Full: 6, Long: 280}.N(), effort.Cases{Test: 1, Long: 4}.N()
	w := newCrashWorld(t)
	w.grow(30)
	check := func(what string, want []string) {
		t.Helper()
		if diff := gocmp.Diff(want, readAll(t, w.s)); diff != "" {
			t.Fatalf("%s (-before +after):\n%s", what, diff)
		}
		w.verify(what)
	}
	for range rounds {
		for _, point := range crashPoints(t) {
			w.grow(13)
			want := readAll(t, w.s)
			before := w.kills
			at := fmt.Sprintf("%s:%d", point, 1+w.rnd.IntN(rounds))
			w.run(at, 0)
			check(at, want)
			if w.kills == before && rounds == 1 {
				t.Errorf("%s is never passed", point)
			}
		}
	}
	for i := range random {
		w.grow(13)
		want := readAll(t, w.s)
		done := make(chan struct{})
		other := w.bin
		go func() { // another one, which is not killed
			defer close(done)
			if i%2 == 0 {
				out, err := exec.CommandContext(t.Context(), other, w.dir).CombinedOutput()
				if err != nil {
					t.Errorf("the other compactor ended with %v: %s", err, out)
				}
			}
		}()
		w.run("", time.Duration(1+w.rnd.Int64N(int64(120*time.Millisecond))))
		<-done // readAll does not look for what vanishes
		check("random instant", want)
	}
	want := readAll(t, w.s)
	w.run("", 0)
	check("the end", want)
	for _, name := range names(t, w.s) {
		if _, err := blobnaming.Parse(name); err == nil {
			t.Errorf("segment %s remains", name)
		}
	}
	t.Logf("%d kills", w.kills)
}
