package record_test

import (
	"strings"
	"testing"

	"logstow/record"
)

func set(levels ...record.Level) (s record.LevelSet) {
	for _, l := range levels {
		s |= 1 << l
	}
	return s
}

func TestParseLevels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]record.LevelSet{
		"error":         set(record.Error),
		"error,fatal":   set(record.Error, record.Fatal),
		" Warning , - ": set(record.Warn, record.None),
		"warn+":         set(record.Warn, record.Error, record.Fatal),
		"critical":      set(record.Fatal),
		"fatal+":        set(record.Fatal),
		"none,debug":    set(record.None, record.Debug),
		"trace+":        set(record.Trace, record.Debug, record.Info, record.Warn, record.Error, record.Fatal),
	} {
		if got, err := record.ParseLevels(text); err != nil || got != want {
			t.Errorf("%q: %b, %v; want %b", text, got, err, want)
		}
	}
	for _, bad := range []string{"", ",", "error,", "loud", "-+", "none+", "+", "warn++", "e"} {
		if got, err := record.ParseLevels(bad); err == nil {
			t.Errorf("%q: %b, want an error", bad, got)
		}
	}
}

// What is taken holds at least one level, and one for each item without a floor.
func FuzzParseLevels(f *testing.F) {
	f.Add("warn+,trace")
	f.Add("-,critical")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := record.ParseLevels(s)
		if err != nil {
			return
		}
		if got == 0 || got >= 1<<record.Levels {
			t.Errorf("%q: %b", s, got)
		}
		for item := range strings.SplitSeq(s, ",") {
			one, err := record.ParseLevels(item)
			if err != nil || one&^got != 0 {
				t.Errorf("%q of %q: %b, %v", item, s, one, err)
			}
		}
	})
}
