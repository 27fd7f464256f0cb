package syntax

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"logstow/internal/units"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "5": 5, "5.": 5, ".5": 0.5, "5.25": 5.25, "1e3": 1000, "1E+3": 1000, "1e-3": 0.001, "0x1f": 31, "0xFF": 255, "0X1F": 31, "0x_ff": 255, "1_000": 1000, "0x1p4": 16, "0x1P-1": 0.5, "0x1.8p0": 1.5,
	} {
		if got, err := parseNumber(text); err != nil || got != want {
			t.Errorf("number %s is %g, %v", text, got, err)
		}
	}
	for text, want := range map[string]float64{
		"1B": 1, "1kB": 1e3, "1KB": 1e3, "1.5MB": 1.5e6, "1GB": 1e9, "1TB": 1e12, "1PB": 1e15,
		"1KiB": 1024, "1MiB": 1048576, "0.5GiB": 536870912, "1TiB": 1099511627776, "1PiB": 1125899906842624,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("size %s is %g, %v", text, got, err)
		}
	}
	for text, want := range map[string]time.Duration{
		"0s": 0, "1y": 8760 * time.Hour, "1w": 168 * time.Hour, "1d": 24 * time.Hour, "1.5h": 90 * time.Minute, "1m": time.Minute,
		"1s": time.Second, "1ms": time.Millisecond, "1us": time.Microsecond, "1µs": time.Microsecond, "1ns": 1,
		"1y2w3d4h5m6s7ms8us9ns": (365+14+3)*24*time.Hour + 4*time.Hour + 5*time.Minute + 6*time.Second + 7*time.Millisecond + 8009,
		"0.1s0.5ms":             100_500 * time.Microsecond,
		"106751d23h47m16s854ms": 9223372036854 * time.Millisecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("duration %s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "s", "5", "5x", "1s1m", "1s1s", "1us1µs", "1.5d", "1.s", ".5s", "1.2.3s", "1 s", "-1s", "1sm"} {
		if got, err := parseDuration(text); !errors.Is(err, units.ErrForm) {
			t.Errorf("duration %q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"293y", "106752d", "9223372037s", "100000000000000000000s"} {
		if got, err := parseDuration(text); !errors.Is(err, units.ErrRange) {
			t.Errorf("duration %q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"B", "5", "5kb", "5EB", "5.B", ".5B", "5 B", "-5B", "5K"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("size %q is %g", text, got)
		}
	}
	for _, text := range []string{"", "x", "0x", "0xg", "1e", "1__0", "1_", "inf", "nan", "0x1p", "0x1.8", "1.2.3"} {
		if got, err := parseNumber(text); !errors.Is(err, units.ErrForm) {
			t.Errorf("number %q is %g, %v", text, got, err)
		}
	}
}

func TestDurationForms(t *testing.T) {
	g := newGenerator(t)
	all := []time.Duration{0, 1, -1, math.MaxInt64}
	for range 100_000 {
		all = append(all, time.Duration(g.Int64()>>g.IntN(63)))
	}
	for _, d := range all {
		text, negative := strings.CutPrefix(durationText(d), "-")
		got, err := parseDuration(text)
		if negative {
			got = -got
		}
		if err != nil || got != d {
			t.Fatalf("%d is %s: %s, %v", int64(d), text, got, err)
		}
	}
}
