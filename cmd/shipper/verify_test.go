package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/store"
	"logstow/store/open"
	"logstow/tableindex"
)

// If nothing listens, jobs fail soon, not after the two minutes and more of other failures.
func TestNothingListens(t *testing.T) {
	effort.Need(t, effort.Test, "waits for many programs")
	t.Parallel()
	at := "http://" + closedAddress + "/account"
	env := append(os.Environ(), fmt.Sprintf("AZURE_STORAGE_CONNECTION_STRING="+
		"AccountName=account;AccountKey=a2V5;BlobEndpoint=%s;TableEndpoint=%s", at, at))
	// It is retried, which is reported, unless the first attempts take all of the time.
	want := regexp.MustCompile(`^(shipper: retrying for .*\n)*shipper: azblob://logs: .*\nhint: .*nothing listens at ` + regexp.QuoteMeta(at) + `.*\n$`)
	for _, args := range [][]string{{"verify"}, {"reindex"}, {"retain", "--keep", "30d"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			cmd := shipperCommand(t.Context(), t, env, append(args, "--store", "azblob://logs")...)
			began := time.Now()
			err := cmd.Run()
			took := time.Since(began)
			stderr := fmt.Sprint(cmd.Stderr.(*bytes.Buffer))
			if cmd.ProcessState.ExitCode() != 3 || !want.MatchString(stderr) || took < 12*time.Second && !strings.HasPrefix(stderr, "shipper: retrying for ") {
				t.Errorf("%v: %s", err, stderr)
			}
			if took < 5*time.Second || took > 90*time.Second {
				t.Errorf("took %v: want 5 s and a little more: time for a service to start, not minutes", took)
			}
		})
	}
}

// After all tables are dropped reindex writes the very entities that shippers wrote, to the byte.
func TestReindexWritesWhatShippersWrote(t *testing.T) {
	effort.Need(t, effort.Test, "runs programs")
	t.Parallel()
	for _, kind := range effort.Some(t, "local", "azurite") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "local" {
				testRewritten(t, filepath.Join(t.TempDir(), "store"), nil)
				return
			}
			a := azurite.Start(t)
			testRewritten(t, "azblob://"+a.Container(), []string{"AZURE_STORAGE_CONNECTION_STRING=" + a.ConnectionString()})
		})
	}
}

func testRewritten(t *testing.T, spec string, env []string) {
	env = append(env, "XDG_STATE_HOME="+t.TempDir())
	run := func(args ...string) {
		t.Helper()
		cmd := shipperCommand(t.Context(), t, env, append(args, "--store", spec)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("shipper %s: %v: %s", args, err, cmd.Stderr)
		}
	}
	var text strings.Builder
	for n := range 5000 {
		at := time.Date(2026, 11, 18, 12, 0, 0, 1234, time.UTC).Add(time.Duration(n*n) * 13 * time.Millisecond)
		fmt.Fprintf(&text, "%s %s order %d\n", at.Format(time.RFC3339Nano), []string{"INFO", "ERROR", "-", "DEBUG"}[n%4], n)
	}
	file := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run("run", "--once", "--service", "api", "--instance", "pod-1", file)
	run("run", "--once", "--service", "pay", "--instance", "pod-1", "--class", "audit", "--flush-size", "20KiB", file)

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
	before := rawEntities(t, s)
	if len(before) < 100 {
		t.Fatalf("%d entities", len(before))
	}
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := s.Tables().DropTable(t.Context(), table.Name); err != nil {
			t.Fatal(err)
		}
	}
	run("reindex")
	if diff := cmp.Diff(before, rawEntities(t, s)); diff != "" {
		t.Error(diff)
	}
	run("verify", "--full")
}

// rawEntities are all entities of the index, with all properties that docs/format/index.md names.
func rawEntities(t *testing.T, s store.Store) (all []string) {
	t.Helper()
	columns := []store.Column{{Name: "Minutes", Kind: store.Binary}}
	for _, name := range []string{"Type", "Blob", "ETag", "StartTime", "EndTime", "LogVersion", "Levels", "Batch", "Instance", "Class", "Filter"} {
		columns = append(columns, store.Column{Name: name})
	}
	for _, name := range []string{"V", "Size", "Records", "RawBytes", "Seq", "Footer"} {
		columns = append(columns, store.Column{Name: name, Kind: store.Int64})
	}
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for page, err := range s.Tables().Query(t.Context(), table.Name, store.Query{PartitionTo: "~", Columns: columns}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				all = append(all, fmt.Sprintf("%s %q %q", table.Name, e.Key, e.Properties))
			}
		}
	}
	slices.Sort(all)
	return all
}
