package units_test

import (
	"testing"
	"time"

	"logstow/internal/units"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "15m": 15 * time.Minute, "2h": 2 * time.Hour, "3d": 72 * time.Hour,
		"1w": 168 * time.Hour, "1w2d": 216 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		if got, err := units.ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "5", "d", "-2h", "0s", "1d1w", "NaNd", "1e300d", "-1d", "infd", "9999999h", "1x"} {
		if got, err := units.ParseDuration(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"0": 0, "8MiB": 8 << 20, "8M": 8 << 20, "500KB": 500_000, "1.5k": 1536, "2 GiB": 2 << 30, "7B": 7, "1tb": 1e12,
	} {
		if got, err := units.ParseSize(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "x", "-1", "8Mib/s", "8XB", "99999999999T", "1..2"} {
		if got, err := units.ParseSize(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 12_345_678: "12.3 MB", 2e9: "2.0 GB", 5e15: "5000.0 TB"} {
		if got := units.FormatSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
