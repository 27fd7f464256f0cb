package local_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"logstow/store"
)

var update = flag.Bool("update", false, "rewrite testdata/database.txt")

// The database of a store, its schema and what is in it, is as testdata/database.txt has it.
func TestGoldenDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	metadata := map[string]string{"LogVersion": "logstow/1", "StartTime": "2024-03-05T15:04:05.000000000Z"}
	if _, err := s.Blobs().Create(t.Context(), "web/2024/03/05/1500/000001.log", []byte("body"), store.CreateOptions{Metadata: metadata}); err != nil {
		t.Fatal(err)
	}
	const table = "segments25bf8e1a20240305"
	if err := s.Tables().CreateTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	entity := store.Entity{Key: store.Key{Partition: "web|03", Row: "7513720935854775807_1500_000001"}, Properties: map[string]any{
		"Blob": "web/2024/03/05/1500/000001.log", "Records": int64(1 << 40), "Negative": int64(-1), "Minutes": []byte{0, 1, 0xff}, "Empty": "",
	}}
	if err := s.Tables().Upsert(t.Context(), table, []store.Entity{entity}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, ".logstow", "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got strings.Builder
	for _, query := range []string{
		"PRAGMA application_id", "PRAGMA user_version", "PRAGMA journal_mode", "PRAGMA encoding",
		"SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name",
		"SELECT name, size, typeof(written), metadata, deleting FROM blobs",
		"SELECT id, name FROM tables",
		"SELECT tbl, pk, rk, hex(substr(properties, 1, length(properties) - 8)) AS properties FROM entities", // ends with the time of the write,
	} {
		fmt.Fprintf(&got, "%s\n", query)
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(sql.NullString)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				fmt.Fprintf(&got, "  %s: %s\n", columns[i], v.(*sql.NullString).String)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n")
	}
	golden := filepath.Join("testdata", "database.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
