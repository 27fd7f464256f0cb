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

// Where 0 has a meaning, it is written with or without a unit; everything else is as in ParseDuration.
func TestParseZero(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{"0": 0, "0s": 0, "0d": 0, "1.5d": 36 * time.Hour, "1d2h": 26 * time.Hour, "8760h0m0.5s": 8760*time.Hour + time.Second/2} {
		if got, err := units.ParseZero(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "5", "d", "-2h", "-1d", "1d-2h", "none", "9999999h", "5000w5000w", "80000w", "infw", "1y"} {
		if got, err := units.ParseZero(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]float64{
		"1h30m": 5400, "-2.5s": -2.5, "+5s": 5, "3d": 259200, "1y2w": 379 * 86400, "-1d12h": -129600, "1d0.5s": 86400.5, "0": 0, "1000y": 365000 * 86400, ".5h": 1800,
	} {
		if got, ok := units.Seconds(s); !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-", "5", "--5s", "-+5s", "1d-5s", "1d+5s", "d", "1w1y", "infd", "NaNd", "1e400d", "x"} {
		if got, ok := units.Seconds(s); ok {
			t.Errorf("%q: %v, want none", s, got)
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

func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 segment": units.Count(1, "segment"), "0 segments": units.Count(uint64(0), "segment"), "2 more groups": units.Count(int64(2), "more group"),
		"1 index entity": units.Count(1, "index entity"), "3 index entities": units.Count(3, "index entity"), "5 sealed batches": units.Count(5, "sealed batch"),
		"2 prefixes": units.Count(2, "prefix"), "4 days": units.Count(4, "day"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	if a, b := units.Dollars(0), units.Dollars(0.0000125); a != "nothing" || b != "about $0.000013" && b != "about $0.000012" {
		t.Error(a, b)
	}
}
