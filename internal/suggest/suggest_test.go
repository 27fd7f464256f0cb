package suggest_test

import (
	"testing"

	"logstow/internal/suggest"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"query", "stats", "services", "segments", "completion", "service", "since", "flush-size", "flush-interval", "run"}
	for word, want := range map[string]string{
		"qurey": "query", "stat": "stats", "STATS": "stats", "segment": "segments", "compl": "completion",
		"services": "services", "service": "service", "flush-intervall": "flush-interval", "flush": "", "sincee": "since",
		"x": "", "": "", "uqrey": "query", "runn": "run", "rnu": "run", "nur": "run", "walk": "", "buckets": "", "s": "", "runxyz": "",
	} {
		if got := suggest.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := suggest.DidYouMean("qurey", names); got != "did you mean query?" {
		t.Error(got)
	}
	if got := suggest.DidYouMean("walk", names); got != "" {
		t.Error(got)
	}
}
