package azure_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/azure"
)

// inspect looks at what was written with Microsoft's JavaScript clients.
func inspect(t *testing.T, connection string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"inspect.mjs"}, args...)...)
	cmd.Dir = filepath.Join("..", "..", "testdata", "azurite")
	cmd.Env = append(os.Environ(), "AZURE_STORAGE_CONNECTION_STRING="+connection)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspect %q: %v\n%s", args, err, &stderr)
	}
	return out
}

// TestSeenByAnotherClient writes a blob and an entity and has another client,
// which no code of this module shares, show what is there.
func TestSeenByAnotherClient(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	const name, body = "queue/2014/07/31/1800/000001.log", "\x28\xb5\x2f\xfd stored bytes"
	metadata := map[string]string{"StartTime": "2014-07-31T18:00:00.000000000Z", "Levels": "info=3 error=1", "Records": "4"}
	etag := mustCreate(t, s, name, body, store.CreateOptions{
		Metadata: metadata, ContentType: "text/plain; charset=utf-8", ContentEncoding: "zstd",
	})
	table := tableName(a.Container())
	if err := s.Tables().CreateTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	const big = int64(1<<62 + 1)
	err := s.Tables().Upsert(t.Context(), table, []store.Entity{{
		Key:        store.Key{Partition: "queue|0a", Row: "7999999999999999999_1800_000001"},
		Properties: map[string]any{"Type": "segment", "V": int64(1), "Size": big, "Minutes": []byte{0, 1, 255}},
	}})
	if err != nil {
		t.Fatal(err)
	}

	var got struct {
		Blobs []struct {
			Name, ETag, Type, ContentType, ContentEncoding string
			Size                                           int64
			Metadata                                       map[string]string
		}
		Tables []struct {
			Name     string
			Entities []map[string]any
		}
	}
	if err := json.Unmarshal(inspect(t, a.ConnectionString(), s.Container()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Blobs) != 1 {
		t.Fatalf("blobs: %+v", got.Blobs)
	}
	b := got.Blobs[0]
	if b.Name != name || b.Size != int64(len(body)) || b.ETag != etag || b.Type != "BlockBlob" ||
		b.ContentType != "text/plain; charset=utf-8" || b.ContentEncoding != "zstd" {
		t.Errorf("blob: %+v", b)
	}
	lower := map[string]string{}
	for key, v := range metadata {
		lower[strings.ToLower(key)] = v
	}
	seen := map[string]string{}
	for key, v := range b.Metadata {
		seen[strings.ToLower(key)] = v
	}
	if diff := cmp.Diff(lower, seen); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	want := []map[string]any{{
		"partitionKey": "queue|0a", "rowKey": "7999999999999999999_1800_000001", "Type": "segment",
		"V": "1", "V@type": "Int64", "Size": strconv.FormatInt(big, 10), "Size@type": "Int64",
		"Minutes": "AAH/", "Minutes@type": "Binary",
	}}
	for _, found := range got.Tables {
		if found.Name != table {
			continue // another test's
		}
		for _, e := range found.Entities {
			maps.DeleteFunc(e, func(key string, _ any) bool { return key == "etag" || strings.HasPrefix(key, "timestamp") })
		}
		if diff := cmp.Diff(want, found.Entities); diff != "" {
			t.Errorf("entities (-want +got):\n%s", diff)
		}
		want = nil
	}
	if want != nil {
		t.Errorf("table %s is not listed", table)
	}
	if got := inspect(t, a.ConnectionString(), s.Container(), name); string(got) != body {
		t.Errorf("bytes: %q, want %q", got, body)
	}
}
