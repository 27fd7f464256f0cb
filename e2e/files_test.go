package e2e

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/effort"
)

// logq query --file prints what it prints after a shipper stored the file: the same records in the same
// order, whatever is selected.
func TestFilesAsShipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mixed := filepath.Join(dir, "mixed.log")
	text := `2026-11-20T10:00:05Z ERROR failed
java.lang.IllegalStateException: x
	at com.example.App.main(App.java:1)
2026-11-20T10:00:01Z INFO earlier
without a time

{"time":"2026-11-20T09:59:59.5Z","level":"warn","msg":"json","status":503}
10.0.0.7 - - [20/Nov/2026:10:00:02 +0000] "GET /a HTTP/1.1" 502 12
` + "bytes \xff\x00 and\r\n" + "2026-11-20T10:00:05Z long " + strings.Repeat("y", 200_000) + "\nthe end, without a newline"
	lines := "2026-11-20T11:00:00Z stdout F 2026-11-20T10:30:00Z INFO wrapped\n2026-11-20T11:00:01Z stderr P first \n2026-11-20T11:00:02Z stderr F and last part\n"
	write := func(path string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(mixed, []byte(text))
	pod := filepath.Join(dir, "pod.log")
	write(pod, []byte(lines))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(strings.ReplaceAll(text, "2026-11-20", "2026-11-19")))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(dir, "old.log.gz")
	write(packed, zipped.Bytes())
	for name, paths := range map[string][]string{"mixed": {mixed}, "pod": {pod}, "gzip": {packed}, "all": {mixed, pod, packed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAsShipped(t, paths)
		})
	}
	for _, l := range realLogs() {
		t.Run(l.file, func(t *testing.T) {
			effort.Need(t, effort.Full, "a real log")
			t.Parallel()
			sameAsShipped(t, []string{filepath.Join(loghub(t), l.file)})
		})
	}
}

// sameAsShipped compares what logq prints of files with what it prints of a store that they were shipped to.
func sameAsShipped(t *testing.T, paths []string) {
	t.Helper()
	store := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: store, dir: store}
	s.must(t, append([]string{"shipper", "run", "--once", "--service", "file", "--instance", "-"}, paths...)...)
	for _, args := range [][]string{
		{"query", "-o", "raw"},
		{"query", "--fields", "time,level,message", "-o", "csv"},
		{"query", "--newest", "-n", "3", "-o", "raw"},
		{"query", "--tail", "4", "-o", "raw"},
		{"query", "-i", "error", "-C", "1", "--fields", "time,message"},
		{"query", "--where", "status >= 500", "--fields", "level,message"},
		{"stats", "--by", "level", "--by", "10m", "-o", "csv"},
		{"fields", "-o", "json"},
		{"patterns", "-o", "json"},
		{"query", "--count", "-l", "warn+"},
	} {
		args = append([]string{"logq"}, append(args, "--utc")...)
		of := args
		for _, path := range paths {
			of = append(of[:len(of):len(of)], "--file", path)
		}
		want := s.command(t, nil, append(args[:len(args):len(args)], "--from", "2000-01-01", "--to", "2100-01-01")...)
		got := target{}.command(t, nil, of...)
		if got.status != want.status || !bytes.Equal(got.out, want.out) || len(got.out) == 0 && args[1] != "fields" && want.status == 0 {
			t.Errorf("%v: status %d, want %d\n%s\nwant\n%s\n%s", args, got.status, want.status, shortened(got.out), shortened(want.out), got.errs)
		}
	}
}

func shortened(out []byte) []byte { return out[:min(len(out), 2000)] }
