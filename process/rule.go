package process

import (
	"bytes"
	"fmt"
	"regexp"
	"sync/atomic"

	"logstow/record"
	"logstow/record/attributes"
)

// matcher is a compiled rule.
type matcher struct {
	levels record.LevelSet
	texts  [][]byte
	regexp *regexp.Regexp
	// where is the index of a condition, -1 if there is none.
	where int
}

func (c *conditions) matchers(rules []Rule) ([]matcher, error) {
	all := make([]matcher, 0, len(rules))
	for _, r := range rules {
		m, err := c.matcher(r)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (c *conditions) matcher(r Rule) (matcher, error) {
	where, err := c.add(r.Where)
	return matcher{levels: r.Levels, texts: literals(r.Contains), regexp: r.Regexp, where: where}, err
}

func matchesAny(all []matcher, r *record.Record, e *evaluator) bool {
	for i := range all {
		if all[i].matches(r, e) {
			return true
		}
	}
	return false
}

func (m *matcher) matches(r *record.Record, e *evaluator) bool {
	return m.levels.Has(r.Level) && m.holdsText(r) && m.matchesText(r) && (m.where < 0 || e.holds(m.where))
}

func (m *matcher) holdsText(r *record.Record) bool {
	return len(m.texts) == 0 || holdsOne(r.Message, m.texts) ||
		len(r.Attributes) > 0 && inAttributes(r.Attributes, func(text []byte) bool { return holdsOne(text, m.texts) })
}

func (m *matcher) matchesText(r *record.Record) bool {
	return m.regexp == nil || m.regexp.Match(r.Message) || len(r.Attributes) > 0 && inAttributes(r.Attributes, m.regexp.Match)
}

// inAttributes reports whether a string among attributes is one that matches.
func inAttributes(encoded []byte, matches func(text []byte) bool) bool {
	for text := range attributes.Strings(encoded) {
		if matches(text) {
			return true
		}
	}
	return false
}

// holdsOne reports whether a text contains one of texts.
func holdsOne(text []byte, texts [][]byte) bool {
	for _, one := range texts {
		if bytes.Contains(text, one) {
			return true
		}
	}
	return false
}

// sampler keeps one in several records.
type sampler struct {
	matcher
	oneIn uint64
	seen  atomic.Uint64
	// dropped counts the records that are not kept.
	dropped *tally
}

func samplers(opts *Options, c *conditions) ([]*sampler, error) {
	var all []*sampler
	for _, s := range opts.Sample {
		if s.OneIn < 1 {
			return nil, fmt.Errorf("sample one in %d: want at least 1", s.OneIn)
		}
		m, err := c.matcher(s.Rule)
		if err != nil {
			return nil, err
		}
		all = append(all, &sampler{matcher: m, oneIn: uint64(s.OneIn), dropped: opts.dropTally(reasonSample)})
	}
	return all, nil
}

// sample reports whether the next matching record is kept.
func (s *sampler) sample() bool {
	if (s.seen.Add(1)-1)%s.oneIn == 0 {
		return true
	}
	s.dropped.add()
	return false
}
