package relay

import (
	"time"

	"logstow/input"
)

// SetPatience changes how long a relay that has no requests waits for space.
func SetPatience(r input.Reader, d time.Duration) { r.(*reader).handler.patience = d }
