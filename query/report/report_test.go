package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/aggregatetest"
	"logstow/query/aggregate"
	"logstow/query/report"
)

var update = flag.Bool("update", false, "rewrite the golden files") //nolint:gochecknoglobals // a test flag

// spec is a command line.
type spec struct {
	by, compute, pivot, sort string
	zone                     *time.Location
	from, to                 time.Time
	limit                    int
}

// compute computes functions of messages, a second apart.
func compute(t *testing.T, s spec, messages []string) *aggregate.Result {
	t.Helper()
	spec := aggregatetest.Parse(t, s.by, s.compute, s.sort)
	spec.Zone, spec.Limit = s.zone, s.limit
	if !s.from.IsZero() {
		spec.From, spec.To = s.from.UnixNano(), s.to.UnixNano()
	}
	for i, k := range spec.By {
		if k.Header == s.pivot {
			spec.Pivot = i
		}
	}
	return aggregatetest.Compute(t, spec, time.Second, messages)
}

func written(t *testing.T, r *aggregate.Result, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// values are messages with odd values.
func values() []string {
	return []string{
		`{"k":"-","n":1234.5678,"ok":true}`, `{"k":"","n":0.00012345}`, `{"k":null,"n":99999}`, `{"n":-3,"ok":true}`,
		`{"k":" padded ","n":1e20}`, `{"k":"a\nb\u001b[31m","n":1.5}`, `{"k":"` + strings.Repeat("é", 200) + `","n":7}`,
		`{"k":"x, \"y\"","n":18446744073709551615}`, `{"k":1,"n":"5"}`, `{"k":true,"n":12.25}`, `{"k":"<&>","n":100}`,
		`{"k":"1","n":0.1}`, `{"k":1.50,"n":0}`,
	}
}

// many are messages of more values than are exact.
func many() (messages []string) {
	for i := range aggregate.ExactValues + 1 {
		messages = append(messages, fmt.Sprintf(`{"k":"many","n":%d.5}`, 1000+i))
	}
	return append(messages, `{"k":"one","n":3}`)
}

// perMinute are messages over ten minutes, more and more of one kind.
func perMinute() (messages []string) {
	for i := range 600 {
		kind := "slow"
		if i%60 < i/60*6 {
			kind = "fast"
		}
		messages = append(messages, fmt.Sprintf(`{"k":%q,"n":%d}`, kind, i/60*i/60))
	}
	return messages
}

func TestGolden(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 5*3600+1800)
	for name, c := range map[string]struct {
		spec     spec
		messages []string
		width    int
	}{
		"keys":       {spec{by: "k", compute: "count, sum(n), avg(n)", sort: "k"}, values(), 0},
		"percent":    {spec{compute: "share, ratio(ok) as good, count(ok), rate, stddev(n), max(n), first(k), last(k)"}, values(), 0},
		"bars":       {spec{by: "k"}, values(), 200},
		"rough":      {spec{by: "k", compute: "p50(n), distinct(n) as different, count"}, many(), 0},
		"pivot":      {spec{by: "minute,k", pivot: "k", compute: "count"}, perMinute(), 200},
		"pivot-two":  {spec{by: "minute,k", pivot: "k", compute: "count, max(n)"}, perMinute(), 0},
		"sparklines": {spec{by: "minute,k", compute: "count", zone: zone}, perMinute(), 200},
		"steps":      {spec{by: "1500ms", from: aggregatetest.Start(), to: aggregatetest.Start().Add(4 * time.Second), compute: "count, max(n), rate"}, values()[:2], 0},
		"limit":      {spec{by: "minute,k", compute: "sum(n)", limit: 1}, perMinute(), 0},
		"nothing":    {spec{by: "minute,k", compute: "sum(n)"}, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := compute(t, c.spec, c.messages)
			var got strings.Builder
			for _, format := range []string{report.Table, report.JSON, report.CSV} {
				fmt.Fprintf(&got, "%s:\n%s", format, written(t, r, report.Options{Format: format, Zone: c.spec.zone, Width: c.width}))
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil { //nolint:forbidigo // a test's own file
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// East Asian characters take two columns of a table.
func TestWide(t *testing.T) {
	t.Parallel()
	r := compute(t, spec{by: "k", compute: "count"}, []string{`{"k":"日本"}`, `{"k":"abcdef"}`})
	const want = "k       count\nabcdef      1\n日本        1\n"
	if got := written(t, r, report.Options{Format: report.Table}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestTypes reads JSON and CSV back with the standard library: numbers are numbers, text is text.
func TestTypes(t *testing.T) {
	t.Parallel()
	r := compute(t, spec{by: "k", compute: "count, sum(n) as total, first(n) as f"}, values())
	want := map[string][2]string{ // by the key in JSON: count and sum
		`"-"`: {"1", "1234.5678"}, `""`: {"1", "0.00012345"}, `null`: {"2", "99996"}, `" padded "`: {"1", "100000000000000000000"},
		`"x, \"y\""`: {"1", "18446744073709551615"}, `"1"`: {"2", "0.1"}, `true`: {"1", "12.25"}, `"1.50"`: {"1", "0"},
	}
	found := 0
	for line := range strings.Lines(written(t, r, report.Options{Format: report.JSON})) {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if one, ok := want[string(row["k"])]; ok {
			found++
			if string(row["count"]) != one[0] || string(row["total"]) != one[1] {
				t.Errorf("%s, want %v", line, one)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d rows of %d", found, len(want))
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, r, report.Options{Format: report.CSV}))).ReadAll()
	if err != nil || len(rows) != 12 || strings.Join(rows[0], "|") != "k|count|total|f" {
		t.Fatalf("%q, %v", rows, err)
	}
	if !strings.Contains(fmt.Sprintf("%q", rows), `["x, \"y\"" "1" "18446744073709551615" "18446744073709551615"]`) {
		t.Errorf("%q", rows)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	r := compute(t, spec{by: "k"}, values())
	for _, format := range report.Formats() {
		whole := len(written(t, r, report.Options{Format: format}))
		for _, left := range []int{0, whole - 1} {
			disk := aggregatetest.FullDisk(left)
			if err := report.Write(&disk, r, report.Options{Format: format}); !errors.Is(err, aggregatetest.ErrFull) {
				t.Errorf("%s, %d bytes: %v", format, left, err)
			}
		}
	}
}
