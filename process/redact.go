package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logstow/record"
)

// customKind is the kind of the matches of expressions.
const customKind = "regexp"

// redactor redacts secrets. Those of the built-in kinds are all found before any is replaced, because a
// replacement could hide a secret of another kind.
type redactor struct {
	secrets     []secret
	expressions []expression
}

// secret is a built-in kind of secret that is redacted.
type secret struct {
	kind
	// hints are sets of texts; only a message that contains a text of each set is searched.
	hints [][][]byte
	count *tally
}

// expression replaces its matches.
type expression struct {
	re    *regexp.Regexp
	with  []byte
	count *tally
}

// found is the set of kinds of secrets that were found in a record: a bit for each of redactor.secrets, then of redactor.expressions, of
// which the last bit has all that are left.
type found uint64

// report counts the i-th kind, once for a record, and appends it to kinds unless that is nil.
func (r *redactor) report(seen found, i int, kinds *[]string) found {
	const last = 63
	bit := found(1) << min(i, last)
	if seen&bit != 0 {
		return seen
	}
	kind := customKind
	if i < len(r.secrets) {
		kind = r.secrets[i].name
		r.secrets[i].count.add()
	} else {
		r.expressions[i-len(r.secrets)].count.add()
	}
	if kinds != nil {
		*kinds = append(*kinds, kind)
	}
	return seen | bit
}

// reportAll reports the kinds of spans, in their order.
func (r *redactor) reportAll(seen found, spans []span, kinds *[]string) found {
	for i := range r.secrets {
		if slices.ContainsFunc(spans, func(s span) bool { return s.kind == i }) {
			seen = r.report(seen, i, kinds)
		}
	}
	return seen
}

// redact removes secrets from the message and the attributes of a record. It does not change their bytes, but replaces them. If kinds is not
// nil, it appends the kinds of the redacted secrets to it.
func (r *redactor) redact(of *record.Record, kinds *[]string) {
	message, seen := r.message(of.Message, kinds)
	of.Message = message
	if len(of.Attributes) > 0 {
		of.Attributes = r.attributes(of.Attributes, seen, kinds)
	}
}

// message returns a message without secrets; the same slice if it has none.
func (r *redactor) message(message []byte, kinds *[]string) (redacted []byte, seen found) {
	var few [8]span
	spans := r.find(message, few[:0])
	if len(spans) > 0 {
		seen = r.reportAll(seen, spans, kinds)
		message = r.replace(message, spans)
	}
	for i, e := range r.expressions {
		if e.re.Match(message) {
			message = bounded(e.re.ReplaceAll(message, e.with))
			seen = r.report(seen, len(r.secrets)+i, kinds)
		}
	}
	return message, seen
}

// span is a part of a message that is a secret of the kind secrets[kind].
type span struct{ start, end, kind int }

// find appends the secrets in a message to spans, in ascending order. It merges overlapping ones into one
// of the kind that comes first.
func (r *redactor) find(message []byte, spans []span) []span {
	if len(r.secrets) == 0 {
		return spans
	}
	var seen byteSet
	seen.add(message)
	for i := range r.secrets {
		s := &r.secrets[i]
		if slices.ContainsFunc(s.hints, func(texts [][]byte) bool { return !seen.holdsOne(message, texts) }) {
			continue
		}
		for start, end := s.find(message, 0); start < end; start, end = s.find(message, end) {
			spans = append(spans, span{start, end, i})
		}
	}
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	merged := spans[:1]
	for _, s := range spans[1:] {
		if last := &merged[len(merged)-1]; s.start < last.end {
			last.end, last.kind = max(last.end, s.end), min(last.kind, s.kind)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// replace replaces the spans by [redacted:KIND]. A JSON object remains valid: outside of strings, the
// replacement is a string.
func (r *redactor) replace(message []byte, spans []span) []byte {
	const maxReplacement = len(marked) + len(":connection-string]") + len(`""`)
	out := make([]byte, 0, len(message)+maxReplacement*len(spans))
	object, inside, at := message[0] == '{', false, 0
	for _, s := range spans {
		out = append(out, message[at:s.start]...)
		inside = object && inString(message[at:s.start], inside)
		if quoted := object && !inside; quoted {
			out = append(append(append(append(out, '"'), marked+":"...), r.secrets[s.kind].name...), `]"`...)
		} else {
			out = append(append(append(out, marked+":"...), r.secrets[s.kind].name...), ']')
		}
		at = s.end
	}
	return bounded(append(out, message[at:]...))
}

// bounded truncates a message to the limit of records: a replacement may be longer than the secret.
func bounded(message []byte) []byte { return message[:min(len(message), record.MaxSize)] }

// byteSet is the set of bytes of a message.
type byteSet [256]bool

func (p *byteSet) add(message []byte) {
	for _, c := range message {
		p[c] = true
	}
}

// holdsOne reports whether a message contains one of texts. It searches only for texts whose bytes are all
// in the message.
func (p *byteSet) holdsOne(message []byte, texts [][]byte) bool {
search:
	for _, text := range texts {
		for _, c := range text {
			if !p[c] {
				continue search
			}
		}
		if bytes.Contains(message, text) {
			return true
		}
	}
	return false
}

// newRedactor returns the redactor that the options configure; nil if they configure none.
func newRedactor(opts *Options) (*redactor, error) {
	kinds := slices.Clone(opts.Redact)
	if slices.Contains(kinds, "all") {
		kinds = Kinds()
	}
	for _, name := range kinds {
		if !slices.Contains(Kinds(), name) {
			return nil, fmt.Errorf("redact %q: want %s or all", name, strings.Join(Kinds(), ", "))
		}
	}
	r := &redactor{}
	for _, k := range builtIn() {
		if !slices.Contains(kinds, k.name) {
			continue
		}
		s := secret{kind: k, count: opts.redactionTally(k.name)}
		for _, texts := range k.hints {
			s.hints = append(s.hints, literals(texts))
		}
		r.secrets = append(r.secrets, s)
	}
	for _, e := range opts.Replace {
		if e.Regexp == nil {
			return nil, errors.New("redact: an expression is missing")
		}
		with := e.With
		if with == "" {
			with = marked + "]"
		}
		if strings.ContainsAny(with, "\r\n") {
			return nil, fmt.Errorf("redact %s: the replacement must be one line", e.Regexp)
		}
		r.expressions = append(r.expressions, expression{e.Regexp, []byte(with), opts.redactionTally(customKind)})
	}
	if len(r.secrets)+len(r.expressions) == 0 {
		return nil, nil //nolint:nilnil // documented: no redactor, no cost
	}
	return r, nil
}

func literals(texts []string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
