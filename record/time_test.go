package record_test

import (
	"math"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/record"
)

func TestTimeAgreesWithPackageTime(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var f record.TimeFormatter
	check := func(nano int64) {
		t.Helper()
		want := time.Unix(0, nano).UTC().Format("2006-01-02T15:04:05.000000000Z")
		if got := string(record.AppendTime(nil, nano)); got != want {
			t.Fatalf("AppendTime(%d) = %s, want %s", nano, got, want)
		}
		if got := string(f.AppendTime(nil, nano)); got != want {
			t.Fatalf("TimeFormatter.AppendTime(%d) = %s, want %s", nano, got, want)
		}
		if got, err := record.ParseTime(want); err != nil || got != nano {
			t.Fatalf("ParseTime(%s) = %d, %v, want %d", want, got, err, nano)
		}
	}
	for _, nano := range []int64{0, -1, 1, 999999999, -1e9, 1e9, math.MaxInt64, math.MinInt64, 951782400e9, 4107542400e9} {
		check(nano)
	}
	for n := range int64(10_000) { // all numbers of four digits, in both places
		check(n*10_000 + n)
	}
	for range 200_000 {
		nano := int64(rnd.Uint64())
		check(nano)
		check(nano ^ int64(rnd.Uint64N(1<<30))) // often the same second
	}
}

func TestParseTimeRejects(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "2026-11-20T15:04:05Z", "2026-11-20 15:04:05.123456789Z", "2026-11-20T15:04:05,123456789Z",
		"2026-11-20T15:04:05.123456789z", "2026-11-20T15:04:05.12345678Z", "2026-11-20T15:04:05.1234567890Z",
		"2026-11-20T24:00:00.000000000Z", "2026-11-20T15:60:05.000000000Z", "2026-11-20T15:04:60.000000000Z",
		"2026-02-29T15:04:05.123456789Z", "2026-13-01T15:04:05.123456789Z", "2026-00-01T15:04:05.123456789Z",
		"2026-11-00T15:04:05.123456789Z", "+026-11-20T15:04:05.123456789Z", "2026-11-20T15:04:05.12345678-Z",
		"2026-11-20T15:04:05.-23456789Z", "0000-01-01T00:00:00.000000000Z", "9999-12-31T23:59:59.999999999Z",
		"1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z",
	} {
		if got, err := record.ParseTime(s); err == nil {
			t.Errorf("ParseTime(%q) = %d, want an error", s, got)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-11-20T15:04:05.123456789Z")
	f.Add("1677-09-21T00:12:43.145224192Z")
	f.Fuzz(func(t *testing.T, s string) {
		nano, err := record.ParseTime(s)
		if err == nil && string(record.AppendTime(nil, nano)) != s {
			t.Errorf("ParseTime accepts %q, which AppendTime does not write", s)
		}
	})
}

func BenchmarkTimeFormatter(b *testing.B) {
	for name, step := range map[string]int64{"SameSecond": 1000, "NewSecond": 1_000_000_007} {
		b.Run(name, func(b *testing.B) {
			var f record.TimeFormatter
			dst := make([]byte, 0, record.TimeLen)
			b.ReportAllocs()
			nano := int64(1.7e18)
			for b.Loop() {
				nano += step
				dst = f.AppendTime(dst[:0], nano)
			}
		})
	}
}

func BenchmarkParseTime(b *testing.B) {
	text := []byte("2026-11-20T15:04:05.123456789Z")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.ParseTime(text); err != nil {
			b.Fatal(err)
		}
	}
}
