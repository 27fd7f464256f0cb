package process_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/process"
	"logstow/record"
)

// observer notes what it gets while it is enabled.
type observer struct {
	enabled bool
	seen    []string
}

func (o *observer) Enabled() bool { return o.enabled }

func (o *observer) Observe(service string, r *record.Record, redacted []string, dropped string) {
	o.seen = append(o.seen, fmt.Sprintf("%s %s %q %s", service, r.Message, redacted, dropped))
}

// An observer gets each record after redaction, with what was redacted and why it is dropped; what
// becomes of records is the same with and without.
func TestObserver(t *testing.T) {
	t.Parallel()
	records := []string{"Bearer abcdefgh ssn=1", "noise", "other", "order 1", "order 2", "order 3", "order 4"}
	results := map[bool][]bool{}
	o := &observer{}
	for _, o.enabled = range []bool{false, true} {
		p := newProcessor(t, process.Options{
			Redact: []string{"all"}, Replace: []process.Replacement{{Regexp: regexp.MustCompile(`ssn=\d`)}},
			Drop: []process.Rule{{Contains: []string{"noise"}}}, Keep: []process.Rule{{Contains: []string{"order", "redacted"}}},
			Sample: []process.Sample{{OneIn: 2, Rule: process.Rule{Contains: []string{"order"}}}}, RateLimit: 0.001, Burst: 2, Observer: o,
		})
		for _, text := range records {
			results[o.enabled] = append(results[o.enabled], p.Process("web", &record.Record{Message: []byte(text)}))
		}
	}
	if diff := cmp.Diff(results[false], results[true]); diff != "" {
		t.Errorf("without and with an observer: %s", diff)
	}
	want := []string{
		`web Bearer [redacted:bearer] [redacted] ["bearer" "regexp"] `, `web noise [] drop`, `web other [] keep`,
		`web order 1 [] `, `web order 2 [] sample`, `web order 3 [] rate-limit`, `web order 4 [] sample`,
	}
	if diff := cmp.Diff(want, o.seen); diff != "" {
		t.Error(diff)
	}
	// Without anything else to do, an observer gets all.
	o.seen = nil
	if p := newProcessor(t, process.Options{Observer: o}); !p.Process("web", &record.Record{Message: []byte("x")}) || len(o.seen) != 1 {
		t.Errorf("%q", o.seen)
	}
}
