package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/store"
	"logstow/store/open"
	"logstow/tableindex"
)

// shipperCommand is this program as shipper.
func shipperCommand(ctx context.Context, t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if effort.Of() < effort.Long { // it takes long
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*childTimeout) // so that a test that waits for it in vain fails
		t.Cleanup(cancel)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Env = append([]string{"shipper"}, args...), env
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// heldIn are the names of all blobs of a store, in both containers, and those in the entities of each table.
func heldIn(t testing.TB, s store.Store) (all []string) {
	t.Helper()
	for _, container := range []store.Blobs{s.Blobs(), s.Compacted()} {
		for page, err := range container.List(t.Context(), "") {
			if errors.Is(err, store.ErrNoContainer) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page {
				all = append(all, b.Name)
			}
		}
	}
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for rows, err := range tableindex.Entities(t.Context(), s.Tables(), s.Container(), table.Name, "") {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				all = append(all, "entity of "+row.Name.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

// A rate is a number that is not negative; 0 is no limit.
func TestRetainRate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for rate, valid := range map[string]bool{"0": true, "0.5": true, "-1": false, "NaN": false, "fast": false} {
		cmd := shipperCommand(t.Context(), t, nil, "retain", "--store", dir, "--keep", "2d", "--dry-run", "--rate="+rate)
		_ = cmd.Run() // the store does not exist
		if text := fmt.Sprint(cmd.Stderr); strings.Contains(text, "--rate") == valid {
			t.Errorf("--rate=%s: %s", rate, text)
		}
	}
}

// Killed at random points beside a running shipper and run again, retain comes to the same
// end: what is past is gone, nothing else is, and the index is right.
func TestRetainKilled(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills a retention job many times")
	services, days, kills, most := 12, 12, 8, 700*time.Millisecond
	if effort.Of() == effort.Long {
		services, days, kills, most = 40, 30, 40, 3*time.Second
	}
	a := azurite.Start(t)
	spec := "azblob://" + a.Container()
	env := []string{"AZURE_STORAGE_CONNECTION_STRING=" + a.ConnectionString(), "XDG_STATE_HOME=" + t.TempDir()}
	s, err := open.Store(t.Context(), spec, open.Options{Getenv: func(name string) string {
		if value, ok := strings.CutPrefix(env[0], name+"="); ok {
			return value
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := fillDays(t, s, services, days)

	// The shipper writes records of now, and late ones of a day that is past.
	now, past := time.Now().UTC(), time.Now().UTC().AddDate(0, 0, -days)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	running := shipperCommand(ctx, t, env, "run", "--store", spec, "--service", "live", "--flush-interval", "100ms", "-")
	in, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	lines := 0
	var writing sync.WaitGroup
	halt := make(chan struct{})
	writing.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			fmt.Fprintf(in, "%s INFO live %d\n%s INFO late %d\n", now.Format(time.RFC3339), lines, past.Format(time.RFC3339), lines)
			lines++
			select {
			case <-ticker.C:
			case <-halt:
				return
			}
		}
	})

	r := testrand.New(t)
	retain := []string{"retain", "--store", spec, "--keep", fmt.Sprintf("%dd", days/2), "--rate", "300"}
	killed := 0
	for range kills {
		cmd := shipperCommand(t.Context(), t, env, retain...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(most))), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
	}
	t.Logf("killed %d of %d", killed, kills)
	close(halt)
	writing.Wait()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("shipper run: %v\n%s", err, running.Stderr)
	}
	for range 2 {
		cmd := shipperCommand(t.Context(), t, env, retain...)
		if out, err := cmd.Output(); err != nil {
			t.Fatalf("retain: %v\n%s%s", err, out, cmd.Stderr)
		}
	}
	var live uint64
	got := heldIn(t, s)
	got = slices.DeleteFunc(got, func(line string) bool { return strings.Contains(line, "live/") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for page, err := range s.Blobs().List(t.Context(), "live/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			row, err := tableindex.NewEntity(b)
			if err != nil || row.Name.Bucket.Before(now.Add(-time.Hour)) {
				t.Errorf("%s: %v", b.Name, err)
			}
			live += row.Meta.Records
		}
	}
	if live != uint64(lines) || lines == 0 {
		t.Errorf("%d records of %d are stored", live, lines)
	}
	o := audit.Options{Services: []string{"live"}, Depth: audit.Blocks, OnDifference: func(d audit.Difference) { t.Error(d) }}
	if report, err := audit.Verify(t.Context(), s, o); err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
}

// fillDays stores a blob with its entity for each service, day and one of two hours, and returns what of it is of the
// younger half of days. The day between the halves is left out: it is past from the next midnight on.
func fillDays(t testing.TB, s store.Store, services, days int) (young []string) {
	t.Helper()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	var wg sync.WaitGroup
	for n := range services {
		var rows []tableindex.Entity
		for age := range days {
			if age == days/2 {
				continue
			}
			for hour := range 2 {
				bucket := today.AddDate(0, 0, -age).Add(time.Duration(hour) * time.Hour)
				rows = append(rows, tableindex.Entity{
					Name: blobnaming.Name{Service: fmt.Sprintf("service-%d", n), Bucket: bucket, Number: 1},
					Meta: blobnaming.Metadata{
						Start: bucket.UnixNano(), End: bucket.UnixNano(), Records: 1, RawBytes: 40, Footer: 1,
						Levels: record.Counts{record.Info: 1}, Instance: "pod",
					},
					Size: 1,
				})
				if name := rows[len(rows)-1].Name.String(); age < days/2 {
					young = append(young, name, "entity of "+name)
				}
			}
		}
		wg.Go(func() {
			for i := range rows {
				etag, err := s.Blobs().Create(t.Context(), rows[i].Name.String(), []byte("x"), store.CreateOptions{Metadata: rows[i].Meta.Encode()})
				if err != nil {
					t.Error(err)
				}
				rows[i].ETag = etag
			}
			if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), rows); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(young)
	return young
}
