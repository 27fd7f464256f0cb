package explain

import (
	"strings"
	"time"
)

// FixKind is what a [Fix] changes.
type FixKind int

// The kinds of fixes.
const (
	// FixService replaces the service Old by New, FixSource the [Glob] Old of sources by the source New.
	FixService FixKind = iota
	FixSource
	// FixLabel replaces the name Old of a label in a selector by New, FixLabelFilter filters by it after the parser Parser instead.
	FixLabel
	FixLabelFilter
	// FixField replaces the field Old by New, FixValue the value Old of Field by New.
	FixField
	FixValue
	// FixLevel selects the level New in place of the level Old, or of the patterns in Replaces.
	FixLevel
	// FixSelectService selects the service New in place of the patterns in Replaces.
	FixSelectService
	// FixCondition compares Field by Op with New in place of the patterns in Replaces. Text is set if New is compared as text.
	FixCondition
	// FixWords replaces the patterns in Replaces by Words, FixExclude by the exclusion of New, FixAny by one of Words.
	FixWords
	FixExclude
	FixAny
	// FixIgnoreCase ignores the case of the patterns, FixSubstring finds them inside longer identifiers.
	FixIgnoreCase
	FixSubstring
	// FixRange searches from From to To, or, if To is zero, to now.
	FixRange
	// FixParser parses messages by Parser before Field is used, which only LogQL needs.
	FixParser
	// FixSelector removes all stages of a LogQL query.
	FixSelector
)

// Fix is a change to a query. Its texts are those of the query without quotes.
type Fix struct {
	Kind      FixKind
	Old, New  string
	Field, Op string
	Text      bool
	Words     []string
	Replaces  []string
	From, To  time.Time
	Parser    string // json or logfmt; "" is none
	Since     string // the length of a range that ends now, such as 1h; "" if it is given by From
}

// Glob is a glob that matches a name alone.
func Glob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(name)
}

// Correction is a list of fixes to apply together.
type Correction []Fix

// fixes is a correction of one fix.
func fixes(f Fix) []Correction { return []Correction{{f}} }

// Alternatives are corrections, each by one of names in place of old.
func Alternatives(f Fix, names []string) (all []Correction) {
	for _, name := range names {
		f.New = name
		all = append(all, Correction{f})
	}
	return all
}
