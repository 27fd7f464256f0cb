package units

import (
	"fmt"
	"strings"
	"time"
)

// FormatDuration formats a duration without zero parts: 2h for 2h0m0s; from two days on in days
// and hours.
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		d = d.Round(time.Hour)
		days := fmt.Sprintf("%dd", d/day)
		if d%day == 0 {
			return days
		}
		return days + FormatDuration(d%day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
