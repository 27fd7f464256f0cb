package blobnaming_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"

	"github.com/google/go-cmp/cmp"
)

// golden yields the lines of testdata/names.txt of one kind, without the kind,
// split at tabs. It fails the test when there are none.
func golden(tb testing.TB, kind string) [][]string {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "names.txt"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var lines [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), kind+"\t"); ok {
			lines = append(lines, strings.Split(rest, "\t"))
		}
	}
	if len(lines) == 0 {
		tb.Fatalf("testdata/names.txt has no lines of kind %q", kind)
	}
	return lines
}

func parseTime(tb testing.TB, s string) time.Time {
	tb.Helper()
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestNameGolden(t *testing.T) {
	t.Parallel()
	for _, line := range golden(t, "name") {
		text, service, bucket, number := line[0], line[1], parseTime(t, line[2]), line[3]
		n, err := blobnaming.Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if n.Service != service || !n.Bucket.Equal(bucket) || decimal(n.Number) != number {
			t.Errorf("Parse(%q) = %+v, want %v", text, n, line[1:])
		}
		if got := n.String(); got != text {
			t.Errorf("String of %+v is %q, want %q", n, got, text)
		}
	}
}

func TestParseRejects(t *testing.T) {
	t.Parallel()
	for _, line := range golden(t, "not-a-name") {
		if n, err := blobnaming.Parse(line[0]); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", line[0], n)
		} else if !strings.Contains(err.Error(), "blob name") || n != (blobnaming.Name{}) {
			t.Errorf("Parse(%q) = %+v, %v: want no name and an error that names the problem", line[0], n, err)
		}
	}
}

func TestNameIsUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 2*60*60)
	n := blobnaming.Name{Service: "x", Bucket: time.Date(2026, 1, 1, 1, 30, 0, 0, east), Number: 7}
	if got, want := n.String(), "x/2025/12/31/2330/000007.log"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	valid := map[string]func(string) bool{
		"service":  blobnaming.ValidService,
		"instance": blobnaming.ValidInstance,
		"class":    blobnaming.ValidClass,
	}
	for _, line := range golden(t, "word") {
		kind, text, want := line[0], line[1], line[2] == "valid"
		if got := valid[kind](text); got != want {
			t.Errorf("%s %q: valid is %v, want %v", kind, text, got, want)
		}
	}
}

func TestCleanInstance(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                       "_",
		"web-7f9c.example_1":     "web-7f9c.example_1",
		"Host A/β":               "Host_A___",
		"a\x00b\nc|d":            "a_b_c_d",
		strings.Repeat("x", 128): strings.Repeat("x", 128),
		strings.Repeat("/", 130): strings.Repeat("_", 128),
	} {
		got := blobnaming.CleanInstance(given)
		if got != want || !blobnaming.ValidInstance(got) {
			t.Errorf("CleanInstance(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestCleanService(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                             "",
		"._-":                          "",
		"web-7f9c.example_1":           "web-7f9c.example_1",
		"Shop/β Über":                  "shop----ber",
		"\x00a\nb|\xff.":               "a-b",
		strings.Repeat("x", 64):        strings.Repeat("x", 63),
		"-" + strings.Repeat("x.", 40): strings.Repeat("x.", 31) + "x",
		strings.Repeat("x", 62) + ".x": strings.Repeat("x", 62),
		strings.Repeat("/", 64) + "x":  "x",
	} {
		got := blobnaming.CleanService(given)
		if got != want || got != "" && !blobnaming.ValidService(got) {
			t.Errorf("CleanService(%q) = %q, want %q", given, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range []string{"name", "not-a-name"} {
		for _, line := range golden(f, kind) {
			f.Add(line[0])
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := blobnaming.Parse(s)
		if err != nil {
			return
		}
		if got := n.String(); got != s {
			t.Errorf("Parse(%q) is written as %q", s, got)
		}
		if again, err := blobnaming.Parse(n.String()); err != nil || cmp.Diff(n, again) != "" {
			t.Errorf("parsed again: %+v, %v", again, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blobnaming.Parse("queue/2014/07/31/1800/000001.log"); err != nil {
			b.Fatal(err)
		}
	}
}
