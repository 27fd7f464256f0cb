package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"logstow/internal/test/effort"
	"logstow/internal/test/loggen"
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
	iis := filepath.Join(dir, "iis.log")
	write(iis, []byte("#Fields: date time c-ip cs-method cs-uri-stem sc-status\r\n2026-11-20 10:00:05 192.0.2.7 GET /cart 200\r\n"+
		"2026-11-20 10:00:06 192.0.2.7 POST /pay 503\r\n#Fields: date time sc-status\r\n2026-11-20 10:00:01 500\r\n"))
	wide := filepath.Join(dir, "wide.log")
	write(wide, append([]byte{0xff, 0xfe}, wideText("2026-11-20T10:00:00Z INFO \u00fc\n2026-11-20T10:00:01Z ERROR b\n")...))
	// Lines with other columns are in segments of their own, so that files with equal times, some with directives, may be in another
	// order.
	for name, files := range map[string][]string{"mixed": {mixed}, "pod": {pod}, "gzip": {packed}, "iis": {iis}, "utf-16": {wide}, "all": {mixed, pod, packed, wide}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAsShipped(t, files)
		})
	}
	for _, kind := range []string{"json", "nginx", "hdfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var lines bytes.Buffer
			if err := loggen.Write(&lines, loggen.Options{Kind: kind, Size: 300 << 10, Start: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Span: 3 * time.Hour, Seed: 1}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), kind+".log")
			write(path, lines.Bytes())
			sameAsShipped(t, []string{path})
		})
	}
	traces, err := filepath.Glob("../input/multiline/testdata/*.txt")
	if err != nil || len(traces) == 0 {
		t.Fatal(traces, err)
	}
	joined := []byte("2026-11-20 10:00:00 INFO the first line has a time: another would get that of reading\n")
	for i, trace := range traces {
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		joined = fmt.Appendf(append(joined, data...), "2026-11-20 11:%02d:00 INFO behind it\n", i)
	}
	t.Run("traces", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(dir, "traces.log")
		write(path, joined)
		sameAsShipped(t, []string{path})
	})
	for _, l := range realLogs() {
		t.Run(l.file, func(t *testing.T) {
			effort.Need(t, effort.Full, "a real log")
			t.Parallel()
			sameAsShipped(t, []string{filepath.Join(loghub(t), l.file)})
		})
	}
}

// wideText is a text in UTF-16, little-endian.
func wideText(text string) (wide []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	return wide
}

// sameAsShipped compares what logq prints of files with what it prints of a store that they were shipped to, byte for byte. Sources
// are the same because files are named from their folder.
// Directives are left out: their time is that of reading.
func sameAsShipped(t *testing.T, paths []string) {
	t.Helper()
	store := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: store, dir: store}
	s.must(t, append([]string{"shipper", "run", "--once", "--service", "file", "--instance", "-"}, paths...)...)
	sample := effort.NewSample(t, 4)
	for _, args := range [][]string{
		{"query", "-o", "raw"},
		{"query", "-o", "text"},
		{"query", "-o", "json"},
		{"query", "-o", "flat", "-l", "warn+"},
		{"query", "-o", "pretty", "--color", "always"},
		{"query", "--fields", "time,level,message", "-o", "csv"},
		{"query", "--newest", "-n", "3", "-o", "raw"},
		{"query", "--tail", "4", "-o", "raw"},
		{"query", "-i", "error", "-C", "1", "--fields", "time,message"},
		{"query", "--where", "status >= 500", "-o", "json"},
		{"query", "--sort", "status desc,time", "-n", "20"},
		{"query", "--distinct", "path"},
		{"stats", "--by", "level", "--by", "10m", "-o", "csv"},
		{"stats", "--by", "level,source", "-o", "json"},
		{"fields", "-o", "json"},
		{"patterns", "-o", "json"},
		{"query", "--count", "-l", "warn+"},
		{"query", "-o", "raw", "2026"},
		{"query", "-e", "[Ee]rror", "-x", "nothing"},
	} {
		if !sample.Has() {
			continue
		}
		args = append([]string{"logq"}, append(args, "--utc", "-x", "#Fields:")...)
		of := args
		for _, path := range paths {
			of = append(of[:len(of):len(of)], "--file", filepath.Base(path))
		}
		want := s.command(t, nil, append(args[:len(args):len(args)], "--from", "2000-01-01", "--to", "2100-01-01")...)
		got := target{cwd: filepath.Dir(paths[0])}.command(t, nil, of...)
		if got.status != want.status || !bytes.Equal(got.out, want.out) || len(got.out) == 0 && args[1] != "fields" && want.status == 0 {
			t.Errorf("%v: status %d, want %d\n%s\nwant\n%s\n%s", args, got.status, want.status, shortened(got.out), shortened(want.out), got.errs)
		}
	}
	arrivesAsShipped(t, s, paths)
}

// arrivesAsShipped compares the records that logq prints of standard input with those of a store: they are the same, in the order
// of the file.
func arrivesAsShipped(t *testing.T, s target, paths []string) {
	t.Helper()
	if len(paths) > 1 {
		return
	}
	for _, args := range [][]string{
		{"--fields", "time,level,message", "-o", "json"},
		{"--where", "status >= 500", "--fields", "level,message", "-o", "json"},
		{"-i", "error", "-o", "template={{.level}} {{.message | printf \"%q\"}}"},
	} {
		args = append([]string{"logq", "query", "--utc", "-x", "#Fields:"}, args...)
		in, err := os.Open(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		got := target{}.command(t, in, append(args[:len(args):len(args)], "--file", "-")...)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		want := s.command(t, nil, append(args[:len(args):len(args)], "--from", "2000-01-01", "--to", "2100-01-01")...)
		if got.status != want.status || sortedLines(string(got.out)) != sortedLines(string(want.out)) {
			t.Errorf("%v: status %d, want %d\n%s\nwant\n%s\n%s", args, got.status, want.status, shortened(got.out), shortened(want.out), got.errs)
		}
	}
}

func shortened(out []byte) []byte { return out[:min(len(out), 2000)] }
