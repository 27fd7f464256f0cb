package blobnaming_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
)

func TestOutputNames(t *testing.T) {
	t.Parallel()
	for _, line := range golden(t, "output") {
		hour, err := time.Parse(time.RFC3339, line[1])
		if err != nil {
			t.Fatal(err)
		}
		generation, err := strconv.Atoi(line[3])
		if err != nil {
			t.Fatal(err)
		}
		// Any time of the hour will do.
		name := blobnaming.OutputName(line[0], hour.Add(59*time.Minute), line[2], generation)
		if name.String() != line[4] {
			t.Errorf("%q: %s", line, name)
		}
		got, err := blobnaming.Parse(line[4])
		if err != nil || got != name || got.Output() != generation || !got.HasClass(line[2]) || got.HasClass("other") {
			t.Errorf("%s: read as %+v of generation %d, error %v", line[4], got, got.Output(), err)
		}
		if prefix := blobnaming.OutputPrefix(line[0], hour); !strings.HasPrefix(line[4], prefix) {
			t.Errorf("%s does not start with %s", line[4], prefix)
		}
		rejection := blobnaming.RejectionOf(name)
		if of, err := blobnaming.ParseRejection(rejection); err != nil || of != name {
			t.Errorf("%s rejects %v, error %v", rejection, of, err)
		}
		if _, err := blobnaming.Parse(rejection); err == nil {
			t.Errorf("%s is a segment's name", rejection)
		}
	}
}

func TestNoOutput(t *testing.T) {
	t.Parallel()
	hour := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for _, n := range []blobnaming.Name{
		{Service: "x", Bucket: hour, Number: 1},
		{Service: "x", Bucket: hour, Number: 900_001},
		{Service: "x", Bucket: hour, Number: 8_999_999_999_999_999},
		{Service: "x", Bucket: hour, Number: 10_000_000_000_000_001},
		{Service: "x", Bucket: hour, Number: 9_000_000_001_000_000}, // generation 0
		{Service: "x", Bucket: hour.Add(5 * time.Minute), Number: 9_000_000_001_000_001},
	} {
		if n.Output() != 0 || n.HasClass("") {
			t.Errorf("%s is an output", n)
		}
		if _, err := blobnaming.ParseRejection(blobnaming.RejectionOf(n)); err == nil {
			t.Errorf("%s can be rejected", n)
		}
	}
}

// A shipper never draws a number of an output, however many conflicts it meets and
// whatever it draws.
func TestNumbererDrawsNoOutput(t *testing.T) {
	t.Parallel()
	bucket := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for name, random := range map[string]func(uint64) uint64{
		"greatest": func(limit uint64) uint64 { return limit - 1 },
		"random":   rand.Uint64N,
	} {
		n := blobnaming.NewNumberer(random)
		for i := range 300 {
			var last uint64
			for range 60 {
				last = n.Next("x", bucket)
				if last >= 9_000_000_000_000_000 {
					t.Fatalf("%s: drew %d after %d conflicts", name, last, i)
				}
			}
			n.Taken("x", bucket, last)
		}
	}
}
