package delta

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// maxStat is the maximum number of characters of a string in statistics, as others write it.
const maxStat = 32

// Stats are the statistics of a file, by which readers skip files. A column without values has no minimum and maximum.
type Stats struct {
	Records int64            `json:"numRecords"`
	Min     map[string]any   `json:"minValues"`
	Max     map[string]any   `json:"maxValues"`
	Nulls   map[string]int64 `json:"nullCount"`
}

// Encode returns the form of statistics in [Add].
func (s Stats) Encode() (*string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cannot encode statistics: %w", err)
	}
	encoded := string(text)
	return &encoded, nil
}

// MinString returns a text of at most 32 characters that is not greater than s, which is UTF-8.
func MinString(s string) string {
	short, _ := shorten(s)
	return short
}

// MaxString returns a text of about 32 characters that is not less than s, which is UTF-8; not ok if there is none.
func MaxString(s string) (short string, ok bool) {
	short, cut := shorten(s)
	if !cut {
		return s, true
	}
	for short != "" {
		r, size := utf8.DecodeLastRuneInString(short)
		short = short[:len(short)-size]
		if next := r + 1; next <= utf8.MaxRune {
			if next == 0xD800 { // surrogates are no characters
				next = 0xE000
			}
			return short + string(next), true
		}
	}
	return "", false
}

func shorten(s string) (short string, cut bool) {
	if len(s) <= maxStat {
		return s, false
	}
	n := 0
	for i := range s {
		if n == maxStat {
			return s[:i], true
		}
		n++
	}
	return s, false
}

// timeForm has milliseconds: readers of statistics expect no more.
const timeForm = "2006-01-02T15:04:05.000Z"

// MinTime returns a time, in Unix nanoseconds, as in statistics, rounded down.
func MinTime(nanos int64) string {
	return time.Unix(0, nanos).UTC().Truncate(time.Millisecond).Format(timeForm)
}

// MaxTime is MinTime, rounded up.
func MaxTime(nanos int64) string {
	return time.Unix(0, nanos).UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond).Format(timeForm)
}
