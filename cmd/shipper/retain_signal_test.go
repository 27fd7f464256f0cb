package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/blobnaming"
	wait "logstow/internal/test/await"
	"logstow/record"
	"logstow/retention"
	"logstow/store"
	"logstow/store/local"
	"logstow/tableindex"
)

// Ended by a signal between two batches, retain prints what is known to be deleted; the
// index of what is left stays, and the next run does the rest.
func TestRetainSignal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	const blobs = 2 * store.MaxDelete
	past := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -9)
	var rows []tableindex.Entity
	for number := range uint64(blobs) {
		row := tableindex.Entity{
			Name: blobnaming.Name{Service: "api", Bucket: past, Number: number + 1},
			Meta: blobnaming.Metadata{
				Start: past.UnixNano(), End: past.UnixNano(), Records: 1, RawBytes: 40, Footer: 1,
				Levels: record.Counts{record.Info: 1}, Instance: "pod",
			},
			Size: 1,
		}
		if row.ETag, err = s.Blobs().Create(t.Context(), row.Name.String(), []byte("x"), store.CreateOptions{Metadata: row.Meta.Encode()}); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), rows); err != nil {
		t.Fatal(err)
	}
	left := func() (n int) {
		for _, line := range heldIn(t, s) {
			if !strings.HasPrefix(line, "entity ") {
				n++
			}
		}
		return n
	}
	// After one batch the other waits for hours.
	cmd := shipperCommand(t.Context(), t, nil, "retain", "--store", dir, "--keep", "2d", "--rate", "0.01")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, 2*time.Minute, "a batch is deleted", func() bool { return left() <= blobs-store.MaxDelete })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 {
		t.Errorf("exit status %d", status)
	}
	// The response to the batch may not have arrived yet.
	if want := regexp.MustCompile(`ended early: deleted at least (256 blobs, 256|0 blobs, 0) bytes, of (0 days|1 day); `); !want.Match(out.Bytes()) {
		t.Errorf("no %s in\n%s", want, &out)
	}
	if printed := fmt.Sprint(cmd.Stderr); printed != "shipper: "+dir+": interrupted: stop requested\n" {
		t.Errorf("standard error: %s", printed)
	}
	if got := heldIn(t, s); len(got) != blobs-store.MaxDelete+blobs {
		t.Errorf("%d blobs and entities are left", len(got))
	}
	again := shipperCommand(t.Context(), t, nil, "retain", "--store", dir, "--keep", "2d")
	if out, err := again.Output(); err != nil || !strings.Contains(string(out), "deleted 256 blobs, 256 bytes, of 1 day; ") {
		t.Errorf("%v\n%s%s", err, out, again.Stderr)
	}
	if got := heldIn(t, s); len(got) != 0 {
		t.Errorf("%d blobs and entities are left", len(got))
	}
}

func TestHowFar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		services, walked, found, deleted int64
		dryRun                           bool
		want                             string
	}{
		{4, 1, 300, 256, false, "1/4 services listed, 300 blobs found, 256 deleted"},
		{4, 4, 300, 256, false, "256/300 blobs deleted"},
		{4, 4, 300, 0, true, "4/4 services listed, 300 blobs found, 0 deleted"},
		{0, 0, 0, 0, false, "0/0 blobs deleted"},
	} {
		var p retention.Progress
		p.Services.Store(c.services)
		p.Walked.Store(c.walked)
		p.Found.Store(c.found)
		p.Deleted.Store(c.deleted)
		done, all, what := howFar(&p, c.dryRun)
		if got := fmt.Sprintf("%d/%d %s", done, all, what); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
