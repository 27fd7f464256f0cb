package explain

import (
	"strings"

	"logstow/query/match"
)

// Missing returns reasons for fields that no record of the sample has: fields in named, and fields of the expression that are similar to
// an existing name, and so probably misspelled. There is no sample if columns had everything: then it returns reasons for all fields in
// named, which must be those that no matching record has.
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
		near := Near(use.Field, x.sample.names)
		if inExpression && (len(near) == 0 || strings.HasPrefix(use.Field, near[0]+".")) {
			continue
		}
		explained[use.Field] = true
		x.missing(use.Use)
	}
	return x.reasons
}

// MissingServices returns reasons for selected services, and globs, that are not among the services of the evidence.
func MissingServices(e *Evidence) []Reason {
	x := &explanation{Evidence: e}
	x.services()
	return x.reasons
}
