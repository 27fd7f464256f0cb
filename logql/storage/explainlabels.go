package storage

import (
	"fmt"
	"slices"
	"strings"

	"logstow/internal/suggest"
	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/explain"
	"logstow/record"
)

// unknownLevels is the reason if matchers select no level.
func unknownLevels(matchers []*syntax.Matcher) *query.Reason {
	names := append(explain.LevelNames(), unknownLevel)
	r := reasonOf("level-name", matchers[0].Value,
		fmt.Sprintf("no level matches %s; levels are %s", joined(matchers), strings.Join(names, ", ")))
	if m := matchers[0]; m.Op == syntax.MatchEqual {
		meant := suggest.Nearest(m.Value, names)
		if l := record.LevelFromAlias(m.Value); l != record.None {
			meant = levelLabel(l)
		}
		if meant != "" {
			r.Corrections = []explain.Correction{{{Kind: explain.FixLevel, Old: m.Value, New: meant}}}
		}
	}
	return r
}

// unknownService is the reason if no service matches.
func (x *explanation) unknownService(matchers []*syntax.Matcher) *query.Reason {
	if len(matchers) == 1 && matchers[0].Op == syntax.MatchEqual {
		r := explain.UnknownService(matchers[0].Value, x.services)
		return &r
	}
	r := reasonOf("service-unknown", matchers[0].Value,
		fmt.Sprintf("no service matches %s; %s", joined(matchers), explain.List(x.services)))
	for _, m := range matchers {
		names, ok := alternatives(m.Value)
		if m.Op != syntax.MatchRegexp || !ok {
			continue
		}
		for _, name := range names {
			if near := suggest.Nearest(name, x.services); near != "" {
				r.Corrections = append(r.Corrections, explain.Correction{{Kind: explain.FixService, Old: name, New: near}})
			}
		}
	}
	return r
}

// unknownLabel returns the reason for the first matcher of a label that no record has; nil if there is none. fields are those that
// records have.
func (x *explanation) unknownLabel(fields []Field) *query.Reason {
	for _, m := range x.log.Matchers {
		if !selectsAttributes(m) || m.Matches("") {
			continue
		}
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Label == m.Name })
		if i >= 0 && fields[i].Parser == "" {
			continue
		}
		if i >= 0 {
			return reasonOf("label-unknown", m.Name, fmt.Sprintf("%s is a field of messages: it is a label only after | %s",
				m.Name, fields[i].Parser),
				explain.Correction{{Kind: explain.FixLabelFilter, Old: m.Name, Parser: fields[i].Parser}})
		}
		known := []string{labels.Service, labels.Level, labels.Instance, labels.Source}
		r := reasonOf("label-unknown", m.Name, fmt.Sprintf("no record has the label %s: selectors support service_name, level, instance, source and label attributes; "+
			"fields of messages are labels only after | json or | logfmt", m.Name))
		for _, f := range fields {
			if f.Parser == "" {
				known = append(known, f.Label)
			}
		}
		meant := suggest.Nearest(m.Name, known)
		if m.Op == syntax.MatchEqual && slices.Contains(x.services, m.Value) {
			meant = labels.Service
		}
		if meant != "" {
			r.Corrections = []explain.Correction{{{Kind: explain.FixLabel, Old: m.Name, New: meant}}}
		}
		return r
	}
	return nil
}

// joined are matchers as they are written.
func joined(matchers []*syntax.Matcher) string {
	var texts []string
	for _, m := range matchers {
		texts = append(texts, m.String())
	}
	return strings.Join(texts, ", ")
}
