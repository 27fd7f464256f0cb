// Package parquettest reads Parquet in tests, with another implementation.
package parquettest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// File is the content of a file.
type File struct {
	// Types has, for each column, its name, its physical and its logical type, and whether it is optional.
	Types []string
	// Groups is the number of row groups.
	Groups   int
	Metadata map[string]string
	// Rows have values as JSON has them: INT64 as {"int":"1"}, a timestamp in milliseconds as RFC 3339, one in
	// nanoseconds as {"nanoseconds":"1"}.
	Rows []map[string]any
}

// Read reads a file with hyparquet; root is the directory of the repository. Text that is not UTF-8 fails the
// test. Without node and hyparquet the test is skipped, or fails if LOGSTOW_REQUIRE_SENDERS is 1.
func Read(tb testing.TB, root string, file []byte) (f File) {
	tb.Helper()
	modules, err := filepath.Abs(filepath.Join(root, "testdata/senders/node_modules"))
	if err != nil {
		tb.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(modules, "hyparquet"))
	if _, lookErr := exec.LookPath("node"); err != nil || lookErr != nil {
		if os.Getenv("LOGSTOW_REQUIRE_SENDERS") == "1" { //nolint:forbidigo // of tests
			tb.Fatal("no hyparquet: run npm ci in testdata/senders", err, lookErr)
		}
		tb.Skip("no hyparquet: needs node, and npm ci in testdata/senders")
	}
	path := filepath.Join(tb.TempDir(), "file.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil { //nolint:forbidigo // a test's own file
		tb.Fatal(err)
	}
	script := filepath.Join(root, "internal/test/parquettest/read.mjs")
	out, err := exec.CommandContext(tb.Context(), "node", script, modules, path).CombinedOutput() //nolint:gosec // of the repository
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &f); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return f
}
