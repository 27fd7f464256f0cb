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
