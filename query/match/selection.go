// Package match finds the records of a block of text that a query selects. A [Selection] is compiled once to a [Matcher];
// each goroutine searches with its own [Scanner].
//
// If every match contains a literal, the scanner searches the block for this anchor, and splits and checks only the records
// that contain it.
package match

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/blobnaming"
	"logstow/internal/hint"
	"logstow/message/parse"
	"logstow/record"
	"logstow/segment"
)

// Selection is the conditions of a query. The zero value of every field but
// From and To means "no condition".
type Selection struct {
	// Services are globs; a record's service must match one of them.
	Services []string
	// From is the start of the range, To its end, which is excluded.
	From, To time.Time
	// Levels are the selected levels; empty is all.
	Levels record.LevelSet
	// Sources are globs; a record's source must match one of them. * does not cross a '/', ** does.
	Sources []string
	// Patterns are texts that a message, or a string among the attributes, must contain, all of them. A pattern
	// that is one identifier (see [logstow/filter/token.Whole]) must occur as a whole token,
	// unless Substring is set.
	Patterns []string
	// IDs are texts of which a message or an attribute must contain at least one, each by the rule of Patterns. There may be many: they are
	// searched in one pass. They must not be empty or contain a newline.
	IDs []string
	// Regexps are regular expressions in the syntax of package regexp that a
	// message or an attribute must match, all of them. ^ and $ are its ends.
	Regexps []string
	// Excludes are texts that neither the message nor an attribute may contain, by the rule of Patterns.
	Excludes []string
	// Attributed selects only records that have attributes.
	Attributed bool
	// MessageOnly applies Patterns, IDs, Regexps and Excludes to messages alone.
	MessageOnly bool
	// Templates are templates that a message must match, all of them: texts in which <_> stands for anything, as package
	// [logstow/query/patterns] returns them. The case of letters counts.
	Templates []string
	// Sample is the share of the matching records to select, above 0 and below 1; 0 is all. A record is in the sample or not by a hash
	// of its text as stored, so that all runs, stores and files have the same sample, and a smaller one is a part of a larger one.
	Sample float64
	// Hints are texts that the caller wants all messages to contain. They may exclude records without one of them, but
	// need not: they are an optimization, not a condition.
	Hints []Hint
	// Columns excludes blocks by their columns; nil excludes none. It is not a condition on the records of other blocks.
	Columns *BlockFilter
	// Records is an additional condition on records; nil is none.
	Records *RecordFilter
	// Where are expressions that must be true for a record, all of them, in the
	// language of package [logstow/field/where]; times in them are relative to Now.
	Where []string
	Now   time.Time
	// Parser finds the fields of all messages; nil is the parser of each segment.
	Parser *parse.Parser
	// IgnoreCase folds ASCII letters in Patterns, IDs and Excludes, and is (?i) in Regexps.
	IgnoreCase bool
	// Substring disables whole-token matching.
	Substring bool
	// Limit is the number of records after which to stop; 0 is no limit.
	Limit int
	// Newest reverses the output order: the newest record comes first.
	Newest bool
}

// Hint is a text in the fields of a message, verbatim or with characters written as \u escapes.
type Hint struct {
	Text string
	// Whole is set if the text is a whole token.
	Whole bool
}

// validate reports the first mistake in the fields that are not compiled.
func (s *Selection) validate() error {
	if !s.From.Before(s.To) {
		return fmt.Errorf("the range is empty: it starts at %s and ends at %s",
			s.From.UTC().Format(time.RFC3339Nano), s.To.UTC().Format(time.RFC3339Nano))
	}
	if slices.ContainsFunc(s.IDs, func(id string) bool { return id == "" || strings.Contains(id, "\n") }) {
		return errors.New("an identifier is empty, or has several lines")
	}
	if !(s.Sample >= 0 && s.Sample < 1) {
		return fmt.Errorf("a share of %v is not below 1", s.Sample)
	}
	if s.Limit < 0 {
		return fmt.Errorf("the limit %d is negative", s.Limit)
	}
	for _, name := range s.Services {
		if !IsGlob(name) && !blobnaming.ValidService(name) {
			err := fmt.Errorf("%q is neither a service's name (a-z, 0-9 and inside . _ -, at most %d bytes) nor a glob; several are named one by one",
				name, blobnaming.MaxService)
			if lower := strings.ToLower(name); blobnaming.ValidService(lower) {
				err = hint.Wrap(err, "services are written in lower case: %s", lower)
			}
			return err
		}
	}
	for _, glob := range slices.Concat(s.Services, s.Sources) {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Errorf("%q is not a glob: a bracket, brace or backslash is left open", glob)
		}
	}
	return nil
}

// sameMessages reports whether another selection has the same conditions on messages.
func (s *Selection) sameMessages(o *Selection) bool {
	return slices.Equal(s.Patterns, o.Patterns) && slices.Equal(s.IDs, o.IDs) && slices.Equal(s.Regexps, o.Regexps) &&
		slices.Equal(s.Excludes, o.Excludes) &&

		slices.Equal(s.Templates, o.Templates) && slices.Equal(s.Hints, o.Hints) && slices.Equal(s.Where, o.Where) &&
		s.Now.Equal(o.Now) && s.Parser == o.Parser && s.IgnoreCase == o.IgnoreCase && s.Substring == o.Substring &&
		s.MessageOnly == o.MessageOnly
}

// MatchesService reports whether a service is selected.
func (s *Selection) MatchesService(service string) bool {
	for _, glob := range s.Services {
		if doublestar.MatchUnvalidated(glob, service) {
			return true
		}
	}
	return len(s.Services) == 0
}

// MayMatchSources reports whether a segment with these sources can contain matches.
func (s *Selection) MayMatchSources(sources []string) bool {
	return len(s.Sources) == 0 || slices.Equal(sources, []string{segment.ManySources}) || slices.ContainsFunc(sources, s.matchesSource)
}

// matchesSource reports whether a source is selected.
func (s *Selection) matchesSource(source string) bool {
	return slices.ContainsFunc(s.Sources, func(glob string) bool { return doublestar.MatchUnvalidated(glob, source) })
}

// IsGlob reports whether an element of Services is a glob.
func IsGlob(s string) bool { return strings.ContainsAny(s, `*?[{\`) }

// Nanos converts t to Unix nanoseconds, clamped to their range (years 1678 to 2262).
func Nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
