package process

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logstow/record"
)

// customKind is the kind of the matches of expressions.
const customKind = "regexp"

// redactor redacts one kind of secret.
type redactor struct {
	// kind is its name, regexp for expressions.
	kind string
	// A message is examined if it contains one text of each of hints.
	hints [][][]byte
	// replace is the message without secrets; the same slice if it has none. It does not change the
	// bytes of its argument.
	replace func(message []byte) []byte
	count   *tally
}

// redact returns the message without secrets, and whether it had any.
func (r *redactor) redact(message []byte, seen *byteSet) (redacted []byte, changed bool) {
	for _, texts := range r.hints {
		if !seen.holdsOne(message, texts) {
			return message, false
		}
	}
	redacted = r.replace(message)
	if len(redacted) == len(message) && (len(message) == 0 || &redacted[0] == &message[0]) {
		return message, false
	}
	r.count.add()
	// The replacement may be longer than the secret.
	return redacted[:min(len(redacted), record.MaxSize)], true
}

// byteSet is the set of bytes of a message.
type byteSet [256]bool

func (p *byteSet) add(message []byte) {
	for _, c := range message {
		p[c] = true
	}
}

// holdsOne reports whether a message contains one of texts; it is searched only for those of which
// it has all bytes.
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

// redactors are those in the options, each once.
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
		if !slices.Contains(kinds, k.name) {
			continue
		}
		r := redactor{kind: k.name, replace: builtinRedactor(k), count: opts.redactionTally(k.name)}
		for _, texts := range k.hints {
			r.hints = append(r.hints, literals(texts))
		}
		all = append(all, r)
	}
	for _, r := range opts.Replace {
		if r.Regexp == nil {
			return nil, errors.New("redact: an expression is missing")
		}
		with := r.With
		if with == "" {
			with = "[redacted]"
		}
		if strings.ContainsAny(with, "\r\n") {
			return nil, fmt.Errorf("redact %s: the replacement must be one line", r.Regexp)
		}
		all = append(all, redactor{kind: customKind, replace: customRedactor(r.Regexp, with), count: opts.redactionTally(customKind)})
	}
	return all, nil
}

// builtinRedactor replaces all secrets of a kind by [redacted:KIND]. A JSON object remains one:
// outside of strings, a string is inserted.
func builtinRedactor(k kind) func([]byte) []byte {
	text, quoted := "[redacted:"+k.name+"]", `"[redacted:`+k.name+`]"`
	return func(message []byte) []byte {
		var out []byte
		object, inside := len(message) > 0 && message[0] == '{', false
		for at := 0; ; {
			start, end := k.find(message, at)
			if end <= start {
				if at == 0 {
					return message
				}
				return append(out, message[at:]...)
			}
			if out == nil {
				out = make([]byte, 0, len(message)+len(quoted))
			}
			out = append(out, message[at:start]...)
			if inside = object && inString(message[at:start], inside); object && !inside {
				out = append(out, quoted...)
			} else {
				out = append(out, text...)
			}
			at = end
		}
	}
}

// customRedactor replaces the matches of an expression by a template.
func customRedactor(re *regexp.Regexp, with string) func([]byte) []byte {
	template := []byte(with)
	return func(message []byte) []byte {
		if !re.Match(message) {
			return message
		}
		return re.ReplaceAll(message, template)
	}
}

// holdsOne reports whether a message contains one of texts, or there are none.
func holdsOne(message []byte, texts [][]byte) bool {
	for _, text := range texts {
		if bytes.Contains(message, text) {
			return true
		}
	}
	return len(texts) == 0
}

func literals(texts []string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
