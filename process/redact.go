package process

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logstow/record"
)

// redactor takes one kind of secret out.
type redactor struct {
	// A message is looked at if it holds all bytes of one of needs, and one of hints if there are any.
	needs []string
	hints [][]byte
	// replace is the message without secrets; the same slice where it holds none. It
	// does not change the bytes of the message that it gets.
	replace func(message []byte) []byte
	count   *counter
}

func (r *redactor) redact(message []byte, seen *presence) []byte {
	if !slices.ContainsFunc(r.needs, seen.all) || !holdsOne(message, r.hints) {
		return message
	}
	changed := r.replace(message)
	if len(changed) == len(message) && (len(message) == 0 || &changed[0] == &message[0]) {
		return message
	}
	r.count.add()
	// What is put in may be longer than what it replaces.
	return changed[:min(len(changed), record.MaxSize)]
}

// presence says which bytes a message holds.
type presence [256]bool

func (p *presence) look(message []byte) {
	for _, c := range message {
		p[c] = true
	}
}

func (p *presence) all(needs string) bool {
	for i := range len(needs) {
		if !p[needs[i]] {
			return false
		}
	}
	return true
}

// redactors are those that options name, each once.
func redactors(opts *Options) ([]redactor, error) {
	kinds := slices.Clone(opts.Redact)
	if slices.Contains(kinds, "all") {
		kinds = Kinds()
	}
	for _, name := range kinds {
		if !slices.Contains(Kinds(), name) {
			return nil, fmt.Errorf("redact %q: want %s or all", name, strings.Join(Kinds(), ", "))
		}
	}
	var all []redactor
	for _, k := range builtIn() {
		if slices.Contains(kinds, k.name) {
			all = append(all, redactor{needs: k.needs, hints: k.hints, replace: k.replace("[redacted:" + k.name + "]"), count: opts.Stats.counter(ReasonRedact + k.name)})
		}
	}
	for _, r := range opts.Replace {
		if r.Regexp == nil {
			return nil, fmt.Errorf("redact: an expression is missing")
		}
		with := r.With
		if with == "" {
			with = "[redacted]"
		}
		all = append(all, redactor{needs: []string{""}, replace: own(r.Regexp, with), count: opts.Stats.counter(ReasonRedact + "regexp")})
	}
	return all, nil
}

// own replaces what an expression matches by a template.
func own(re *regexp.Regexp, with string) func([]byte) []byte {
	template := []byte(with)
	return func(message []byte) []byte {
		if !re.Match(message) {
			return message
		}
		return re.ReplaceAll(message, template)
	}
}

// group replaces the first group of an expression wherever it matches.
func group(re *regexp.Regexp) func(mark string) func([]byte) []byte {
	return func(mark string) func([]byte) []byte {
		return func(message []byte) []byte {
			found := re.FindAllSubmatchIndex(message, -1)
			if found == nil {
				return message
			}
			out := make([]byte, 0, len(message)+len(found)*len(mark))
			at := 0
			for _, f := range found {
				out = append(append(out, message[at:f[2]]...), mark...)
				at = f[3]
			}
			return append(out, message[at:]...)
		}
	}
}
