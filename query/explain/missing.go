package explain

import (
	"strings"

	"logstow/internal/suggest"
	"logstow/query/match"
)

// Missing are the fields that occur in none of the records of the sample: of those named, and of those in
// the expression that are near to a name that occurs, and so probably misspelled. Without a sample, where columns had
// all that was needed, it is those named, which no record that matches may have.
func (f *Findings) Missing(m *match.Matcher, named []string) (all []Reason) {
	x := &explanation{Evidence: &Evidence{sel: m.Selection, sample: f.sample.show(m, named...)}}
	if x.sample.records == 0 {
		for _, name := range named {
			x.add("field-missing", "field %q does not occur in the records that match", name)
		}
		return x.reasons
	}
	explained := map[string]bool{}
	for i, use := range x.sample.uses {
		inExpression := i < len(x.sample.uses)-len(named)
		if explained[use.Field] || len(use.kinds) > 0 {
			continue
		}
		near := suggest.Names(use.Field, x.sample.names, maxNamed)
		if inExpression && (len(near) == 0 || strings.HasPrefix(use.Field, near[0]+".")) {
			continue
		}
		explained[use.Field] = true
		x.missing(use.Field)
	}
	return x.reasons
}
