package blobnaming_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"logstow/blobnaming"
)

func TestOutputNames(t *testing.T) {
	t.Parallel()
	for _, line := range golden(t, "output") {
		day, err := time.Parse(time.RFC3339, line[1])
		if err != nil {
			t.Fatal(err)
		}
		generation, err := strconv.Atoi(line[3])
		if err != nil {
			t.Fatal(err)
		}
		// Any time of the day will do.
		name := blobnaming.OutputName(line[0], day.Add(23*time.Hour+59*time.Minute), line[2], generation)
		if name.String() != line[4] {
			t.Errorf("%q: %s", line, name)
		}
		got, err := blobnaming.ParseOutput(line[4])
		if err != nil || got != name || got.Output() != generation || got.Class() != line[2] || !got.HasClass(line[2]) || got.HasClass("other") {
			t.Errorf("%s: read as %+v of generation %d, error %v", line[4], got, got.Output(), err)
		}
		if from, to := name.Period(); !from.Equal(day) || !to.Equal(day.AddDate(0, 0, 1)) {
			t.Errorf("%s has the period %s to %s", name, from, to)
		}
		rejection := blobnaming.RejectionOf(name)
		if of, err := blobnaming.ParseRejection(rejection); err != nil || of != name {
			t.Errorf("%s rejects %v, error %v", rejection, of, err)
		}
		if _, err := blobnaming.ParseOutput(rejection); err == nil {
			t.Errorf("%s is an output's name", rejection)
		}
	}
}

func TestNoOutput(t *testing.T) {
	t.Parallel()
	for _, line := range golden(t, "not-an-output") {
		if n, err := blobnaming.ParseOutput(line[0]); err == nil {
			t.Errorf("%s is an output: %+v", line[0], n)
		}
	}
	plain := blobnaming.Name{Service: "x", Bucket: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), Number: 1}
	if plain.Output() != 0 || plain.HasClass("") {
		t.Errorf("%s is an output", plain)
	}
}

// A number has at most 16 digits, however many conflicts it meets and
// whatever it draws.
func TestNumbersAreBounded(t *testing.T) {
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
				last = next(t, n, "x", bucket)
				n.Unknown("x", bucket, last)
				if last >= 9_000_000_000_000_000 {
					t.Fatalf("%s: drew %d after %d conflicts", name, last, i)
				}
			}
			n.Taken("x", bucket, last)
		}
	}
}
