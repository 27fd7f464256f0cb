package blobnaming

import "time"

// DefaultWidth is the default width of a bucket.
const DefaultWidth = time.Hour

// ValidWidth reports whether w may be a bucket's width: 5, 10, 15, 20, 30 or 60
// minutes. These divide the hour, so no bucket is in two hours.
func ValidWidth(w time.Duration) bool {
	switch w {
	case 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
		20 * time.Minute, 30 * time.Minute, 60 * time.Minute:
		return true
	}
	return false
}

// BucketStart returns the start, in UTC, of the bucket of the given width that contains
// t, in Unix nanoseconds. The width must be valid as of [ValidWidth].
func BucketStart(t int64, width time.Duration) time.Time {
	// The Unix epoch starts an hour, so buckets are aligned to it. Go's remainder
	// has the dividend's sign; a bucket starts before its records also before 1970.
	into := t % int64(width)
	if into < 0 {
		into += int64(width)
	}
	// Subtracted from a time.Time, because the difference may be less than the minimum of int64.
	return time.Unix(0, t).Add(-time.Duration(into)).UTC()
}
