package export_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/export"
	"logstow/internal/crashpoint"
	"logstow/internal/test/effort"
	"logstow/internal/test/programs"
	"logstow/internal/test/testrand"
)

// crashPoints are the named points in the source.
func crashPoints(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "delta/*.go"} {
		files, err := filepath.Glob(pattern)
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
	}
	if len(names) < 6 {
		t.Fatalf("only %q", names)
	}
	return names
}

// killWorld is a world whose programs are killed.
type killWorld struct {
	*world
	bin   string
	kills int
	// took is how long each command took when it last ended by itself.
	took map[string]time.Duration
}

// run runs shipper until it ends or is killed: at a named point, or after a share of the time that the command takes, 0 for neither.
func (w *killWorld) run(point string, share float64, args ...string) {
	const most = time.Minute // one that hangs
	after := time.Duration(share * float64(w.took[args[0]]))
	ctx, cancel := context.WithTimeout(w.tb.Context(), cmp.Or(after, most))
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Env = append(os.Environ(), crashpoint.Env+"="+point)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	switch err := cmd.Run(); {
	case err == nil:
		w.took[args[0]] = time.Since(began)
	case after == 0 && ctx.Err() != nil:
		w.tb.Errorf("%q does not end within %v: %s", args, most, &stderr)
	case strings.Contains(err.Error(), "killed"), ctx.Err() != nil:
		w.kills++
	default:
		w.tb.Errorf("%q ended with %v: %s", args, err, &stderr)
	}
}

// within checks that the table has only records of the store, each once.
func (w *killWorld) within(what string) {
	w.tb.Helper()
	want := make(map[string]int)
	for _, text := range w.want {
		want[text]++
	}
	for _, text := range w.rows() {
		if want[text]--; want[text] < 0 {
			w.tb.Fatalf("%s: %q is in the table, but not so often in the store", what, text)
		}
	}
}

// Killed at each named point and at random instants, beside compaction that is killed, another export and retention, export has each record in
// the table at most once, and after a last run exactly once.
func TestLongKillExport(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "kills many exports")
	w := &killWorld{world: newWorld(t, testrand.New(t)), took: map[string]time.Duration{}}
	bin, err := programs.Build(programs.Crashpoints, "logstow/cmd/shipper")
	if err != nil {
		t.Fatal(err)
	}
	w.bin = filepath.Join(bin, "shipper")
	flags := []string{"export", "--store", w.s.String(), "--to", w.table.Name, "--keep", "5d", "--file-size", "1MiB", "--temp-dir", t.TempDir()}
	merge := []string{"compact", "--store", w.s.String(), "--after", "0s", "--grace", "0s", "--temp-dir", t.TempDir()}
	retain := []string{"retain", "--store", w.s.String(), "--keep", "5d", "--class", "audit=5d"}
	w.fill(dayBefore(7), 4) // retention deletes it
	w.compact()
	w.export()
	points := crashPoints(t)
	grow := func(i int) {
		w.fill(dayBefore(1+i%3), 8)
		w.compact()
	}
	for i, point := range points {
		if strings.Contains(point, "checkpoint") {
			w.skipTo(w.load().Checkpoint + 9)
		}
		grow(i)
		before := w.kills
		w.run(point, 0, flags...)
		if w.kills == before {
			t.Errorf("%s is never passed", point)
		}
		w.within(point)
	}
	other := &killWorld{world: w.world, bin: w.bin, took: map[string]time.Duration{}}
	for i := range (effort.Cases{Test: 3, Full: 60}).N() {
		w.fill(dayBefore(1+i%3), 4)
		done := make(chan struct{})
		_, part := math.Modf(float64(i) * math.Phi) // spread evenly; 0 in the first round, whose commands end
		share := 2 * part                           // so that later ones end, too
		go func() {
			defer close(done)
			other.run("", share, merge...)
			switch i % 3 {
			case 0:
				other.run("", 0, retain...)
			case 1:
				other.run("", 0, flags...)
			}
		}()
		w.run("", share, flags...)
		<-done
		w.within(fmt.Sprintf("random instant %d", i))
	}
	w.kills += other.kills
	w.run("", 0, retain...)
	w.compact() // also a few late segments
	w.run("", 0, flags...)
	w.check("the end", dayBefore(5))
	if r := w.export(func(o *export.Options) { o.Keep = 5 * day }); r.Commits != 0 || r.Units != 0 {
		t.Errorf("after the end: %+v", r)
	}
	if effort.Of() >= effort.Full && w.kills < 40 {
		t.Errorf("only %d kills", w.kills)
	}
	t.Logf("%d kills, version %d, %q", w.kills, w.load().Version, slices.Compact(points))
}
