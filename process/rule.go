package process

import (
	"fmt"
	"regexp"
	"sync/atomic"

	"logstow/record"
)

// matcher is a compiled rule.
type matcher struct {
	levels record.LevelSet
	texts  [][]byte
	regexp *regexp.Regexp
}

func matchers(rules []Rule) []matcher {
	all := make([]matcher, 0, len(rules))
	for _, r := range rules {
		all = append(all, newMatcher(r))
	}
	return all
}

func newMatcher(r Rule) matcher {
	return matcher{levels: r.Levels, texts: literals(r.Contains), regexp: r.Regexp}
}

func matchesAny(all []matcher, r *record.Record) bool {
	for i := range all {
		if all[i].matches(r) {
			return true
		}
	}
	return false
}

func (m *matcher) matches(r *record.Record) bool {
	return m.levels.Has(r.Level) && holdsOne(r.Message, m.texts) && (m.regexp == nil || m.regexp.Match(r.Message))
}

// sampler keeps one in several records.
type sampler struct {
	matcher
	oneIn uint64
	seen  atomic.Uint64
	// dropped counts the records that are not kept.
	dropped *tally
}

func samplers(opts *Options) ([]*sampler, error) {
	var all []*sampler
	for _, s := range opts.Sample {
		if s.OneIn < 1 {
			return nil, fmt.Errorf("sample one in %d: want at least 1", s.OneIn)
		}
		all = append(all, &sampler{matcher: newMatcher(s.Rule), oneIn: uint64(s.OneIn), dropped: opts.dropTally(reasonSample)})
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
