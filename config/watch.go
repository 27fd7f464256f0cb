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
	if text == "0" || text == "0s" {
		return 0, nil
	}
	d, err := units.ParseDuration(text)
	if err == nil && d < minWatchInterval {
		err = fmt.Errorf("%s: want 0, or at least %v", text, minWatchInterval)
	}
	return d, err
}
