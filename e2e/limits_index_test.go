package e2e

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/unindexed"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// The limits of index entities that docs/limits.md states.
const (
	waitingEntities       = 100_000
	waitingEntitiesMemory = 4096
	waitingPart           = 4 // of --buffer-size, one in so many
)

// A buffer with as many index entities as may wait for the index drops the oldest for new ones, and when they exceed their part of the
// buffer.
func TestWaitingEntities(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "100,000 index entities")
	r := newRig(t, true)
	r.refuseTables()
	r.log(0, 100)
	p := r.start(plain(), nil, r.args(r.glob())...)
	await.Until(t, patience, "an entity waits", func() bool { return p.started() && r.unindexed() > 0 })
	p.kill(t)
	dir := r.copyEntities(waitingEntities)
	before := r.unindexed()
	if before < waitingEntities {
		t.Fatalf("%d entities wait", before)
	}
	lines := 100
	for _, limit := range []int64{1 << 30, 64 << 20} {
		p = r.start(plain(), nil, r.args("--metrics", "127.0.0.1:0", "--buffer-size", fmt.Sprint(limit), r.glob())...)
		metrics := p.address(t, "serving metrics")
		r.log(lines, lines+1000)
		lines += 1000
		await.Until(t, patience, "entities are dropped", func() bool { return metric(t, metrics, "logstow_output_unindexed_segments_total") > 0 })
		waiting, dropped := metric(t, metrics, "logstow_index_entities_waiting"), metric(t, metrics, "logstow_output_unindexed_segments_total")
		used := size(t, dir)
		t.Logf("--buffer-size %d MiB: %.0f entities of %d bytes wait, %.0f were dropped", limit>>20, waiting, used, dropped)
		if waiting > waitingEntities || waiting < waitingEntities/4 || used > limit/waitingPart {
			t.Errorf("--buffer-size %d MiB: %.0f entities of %d bytes wait", limit>>20, waiting, used)
		}
		p.kill(t)
	}
}

// copyEntities lets n copies of the first entity that waits in the rig's buffer wait, and returns the directory of the entities.
func (r *rig) copyEntities(n int) (dir string) {
	r.t.Helper()
	err := filepath.WalkDir(r.buffer, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".ent") {
			dir = filepath.Dir(path)
		}
		return err
	})
	if err != nil || dir == "" {
		r.t.Fatalf("no entities in %s: %v", r.buffer, err)
	}
	all, err := unindexed.Open(r.t.Context(), unindexed.Options{
		Dir: dir, FS: disk.OS{}, Limit: math.MaxInt, Log: slog.New(slog.DiscardHandler), Reserve: func(write func() error) error { return write() },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	store := all.Stores()[0]
	group, entities, err := all.Take(store)
	if err != nil || group == nil {
		r.t.Fatalf("no entity of %s: %v", store, err)
	}
	all.Return(group)
	copies := make([]unindexed.Entity, n)
	for i := range copies {
		copies[i] = entities[0]
	}
	if err := all.Add(store, copies...); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// A buffer in memory drops index entities beyond its limit: here of lines that are each in a segment of its own.
func TestWaitingEntitiesInMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "5,000 segments")
	r := newRig(t, true)
	r.refuseTables()
	const lines = waitingEntitiesMemory + 500
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "%s INFO line\n", base.Add(time.Duration(i)*time.Hour).Format(time.RFC3339))
	}
	appendFile(t, r.logFile(), text.String())
	p := r.start(plain(), nil, "run", "--from-start", "--store", r.store, "--service", "crash", "--buffer", "memory", "--flush-interval", "1s", "--metrics", "127.0.0.1:0", r.glob())
	metrics := p.address(t, "serving metrics")
	most := 0.0
	await.Until(t, 5*time.Minute, "all lines are stored", func() bool {
		most = max(most, metric(t, metrics, "logstow_index_entities_waiting"))
		_, text := get(t, "http://"+metrics+"/metrics")
		return strings.Contains(text, fmt.Sprintf(`logstow_output_records_total{service="crash"} %d`, lines))
	})
	waiting, dropped := metric(t, metrics, "logstow_index_entities_waiting"), metric(t, metrics, "logstow_output_unindexed_segments_total")
	t.Logf("at most %.0f entities wait, %.0f were dropped", most, dropped)
	if max(most, waiting) > waitingEntitiesMemory || dropped < lines-waitingEntitiesMemory {
		t.Errorf("at most %.0f entities wait, %.0f were dropped", most, dropped)
	}
	p.signal(t, os.Interrupt)
	p.end(t, patience)
}
