package recognize_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"logstow/record"
	"logstow/record/recognize"
)

// realLog says how to read a real log's time and level slowly but surely.
type realLog struct {
	file string
	// line's groups are the time and, where the format has one, the level.
	line   string
	layout string
	levels map[string]record.Level
	// year is prepended to times without one.
	year string
}

func realLogs() []realLog {
	words := map[string]record.Level{
		"TRACE": record.Trace, "DEBUG": record.Debug, "INFO": record.Info, "WARN": record.Warn, "WARNING": record.Warn,
		"ERROR": record.Error, "FATAL": record.Fatal, "CRITICAL": record.Fatal,
	}
	return []realLog{
		{
			file: "Android", line: `^(\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) +\d+ +\d+ ([VDIWEF]) `, layout: "2006 01-02 15:04:05.000", year: "2017 ",
			levels: map[string]record.Level{"V": record.Trace, "D": record.Debug, "I": record.Info, "W": record.Warn, "E": record.Error, "F": record.Fatal},
		},
		{
			file: "Apache", line: `^\[(\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4})\] \[(\w+)\] `, layout: "Mon Jan 02 15:04:05 2006",
			levels: map[string]record.Level{"notice": record.Info, "error": record.Error, "warn": record.Warn},
		},
		{file: "HDFS", line: `^(\d{6} \d{6}) \d+ (\w+) `, layout: "060102 150405", levels: words},
		{
			file: "Linux", line: `^(\w{3} [ \d]\d \d\d:\d\d:\d\d) combo (?:[^ ]+: )?(?:(warning|error|fatal): )?`, layout: "2006 Jan _2 15:04:05", year: "2005 ",
			levels: map[string]record.Level{"": record.None, "warning": record.Warn, "error": record.Error, "fatal": record.Fatal},
		},
		{
			file: "OpenSSH", line: `^(\w{3} [ \d]\d \d\d:\d\d:\d\d) LabSZ sshd\[\d+\]: (?:(error|fatal): )?`, layout: "2006 Jan _2 15:04:05", year: "2016 ",
			levels: map[string]record.Level{"": record.None, "error": record.Error, "fatal": record.Fatal},
		},
		{file: "OpenStack", line: `^[^ ]+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \d+ (\w+) `, layout: "2006-01-02 15:04:05.000", levels: words},
		{file: "Spark", line: `^(\d\d/\d\d/\d\d \d\d:\d\d:\d\d) (\w+) `, layout: "06/01/02 15:04:05", levels: words},
		{file: "Zookeeper", line: `^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (\w+) +\[`, layout: "2006-01-02 15:04:05,000", levels: words},
	}
}

// readLines reads a real log, or skips the test where there is none.
func readLines(t testing.TB, file string) [][]byte {
	t.Helper()
	dir := os.Getenv("LOGSTOW_LOGHUB")
	if dir == "" {
		root, err := filepath.Abs(".")
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if root == filepath.Dir(root) {
				t.Fatal("no go.mod above this package")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared", "data", "loghub")
	}
	text, err := os.ReadFile(filepath.Join(dir, file+".log"))
	if err != nil {
		t.Skipf("the real logs are not here (LOGSTOW_LOGHUB names their folder): %v", err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// Every line of the real logs gets the time and the level that a regular
// expression and package time read in it.
func TestRealLogs(t *testing.T) {
	t.Parallel()
	for _, real := range realLogs() {
		t.Run(real.file, func(t *testing.T) {
			t.Parallel()
			lines := readLines(t, real.file)
			form := regexp.MustCompile(real.line)
			read := reference().UnixNano()
			ref := read
			if real.year != "" {
				end, err := time.Parse("2006 ", real.year)
				if err != nil {
					t.Fatal(err)
				}
				ref = end.AddDate(1, 0, 0).Add(-time.Second).UnixNano()
			}
			r := recognize.New(recognize.Options{})
			var counts record.Counts
			for n, line := range lines {
				found := form.FindSubmatch(line)
				if found == nil {
					t.Fatalf("line %d is not of the form: %s", n+1, line)
				}
				want, err := time.Parse(real.layout, real.year+string(found[1]))
				if err != nil {
					t.Fatalf("line %d: %v", n+1, err)
				}
				level, known := real.levels[string(found[2])]
				if !known {
					t.Fatalf("line %d: level %q", n+1, found[2])
				}
				got := r.Stamp(line, read, ref)
				if got != (recognize.Stamp{Time: want.UnixNano(), Level: level, Found: true}) {
					t.Fatalf("line %d: got %+v at %v, want %v %v\n%s", n+1, got, time.Unix(0, got.Time).UTC(), want, level, line)
				}
				counts[got.Level]++
			}
			t.Logf("%d lines, by level %v", len(lines), counts)
		})
	}
}
