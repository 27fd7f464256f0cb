package config

import (
	"fmt"
	"time"

	"logstow/internal/units"
)

// minWatchInterval is the minimum interval between polls for watches.
const minWatchInterval = time.Second

// ParseWatchInterval parses the interval between polls for watches: a duration of at least a second, or 0, which disables them.
func ParseWatchInterval(text string) (time.Duration, error) {
	d, err := units.ParseZero(text)
	if err == nil && d != 0 && d < minWatchInterval {
		err = fmt.Errorf("%s: want 0, or at least %v", text, minWatchInterval)
	}
	return d, err
}
