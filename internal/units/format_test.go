package units_test

import (
	"testing"
	"time"

	"logstow/internal/units"
)

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 2 * time.Second: "2s", time.Hour + time.Second: "1h0m1s", 100 * time.Millisecond: "100ms", 0: "0s",
	} {
		if got := units.FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
