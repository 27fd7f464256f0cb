package recognize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"logstow/record"
)

// RuleOptions configure how to find times and levels that are not recognized. The zero value has no
// rules.
type RuleOptions struct {
	// TimeFormat is a strptime format: %d.%m.%Y %H:%M:%S,%f. Without TimeRegexp the first match in
	// the line is used. %f is a fraction of up to nine digits. A time without a year gets a year as in
	// [Recognizer.Stamp].
	TimeFormat string
	// TimeRegexp finds a time: its group "time", otherwise its first group, otherwise the whole
	// match. Without TimeFormat the text must be one that is recognized in JSON fields: most usual
	// formats and epoch numbers.
	TimeRegexp string
	// LevelRegexp finds a level: its group "level", otherwise its first, otherwise the whole match.
	LevelRegexp string
	// Levels maps matches of LevelRegexp to names of levels, see [record.LevelFromAlias]. A match that
	// is not in it is used as the name.
	Levels map[string]string
}

// Rules are compiled [RuleOptions]. Safe for concurrent use.
type Rules struct {
	time       *regexp.Regexp
	timeGroup  int
	format     *timeFormat
	level      *regexp.Regexp
	levelGroup int
	levels     map[string]record.Level
}

// Compile compiles rules; it returns nil if there are none.
func Compile(opts RuleOptions) (*Rules, error) {
	if opts.TimeFormat == "" && opts.TimeRegexp == "" && opts.LevelRegexp == "" && len(opts.Levels) == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	var r Rules
	var err error
	if opts.TimeFormat != "" {
		if r.format, err = newTimeFormat(opts.TimeFormat); err != nil {
			return nil, fmt.Errorf("time format %q: %w", opts.TimeFormat, err)
		}
	}
	if opts.TimeRegexp != "" {
		if r.time, r.timeGroup, err = compileGroup(opts.TimeRegexp, "time"); err != nil {
			return nil, fmt.Errorf("time regexp: %w", err)
		}
	}
	if opts.LevelRegexp != "" {
		if r.level, r.levelGroup, err = compileGroup(opts.LevelRegexp, "level"); err != nil {
			return nil, fmt.Errorf("level regexp: %w", err)
		}
	}
	if r.level == nil && len(opts.Levels) > 0 {
		return nil, errors.New("levels requires level-regexp")
	}
	r.levels = make(map[string]record.Level, len(opts.Levels))
	for word, name := range opts.Levels {
		if r.levels[word] = record.LevelFromAlias(name); r.levels[word] == record.None {
			return nil, fmt.Errorf("level %q for %q: want trace, debug, info, warn, error or fatal", name, word)
		}
	}
	return &r, nil
}

// Times reports whether there are rules for times; r may be nil.
func (r *Rules) Times() bool { return r != nil && (r.time != nil || r.format != nil) }

// compileGroup compiles an expression and returns the index of the group to use: that with the name, otherwise
// the first, otherwise 0 for the whole match.
func compileGroup(expression, name string) (*regexp.Regexp, int, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, 0, err
	}
	return re, max(re.SubexpIndex(name), min(re.NumSubexp(), 1)), nil
}

// submatch returns the match of a group of an expression in a line; nil if there is none.
func submatch(re *regexp.Regexp, group int, line []byte) []byte {
	found := re.FindSubmatchIndex(line)
	if found == nil || found[2*group] < 0 {
		return nil
	}
	return line[found[2*group]:found[2*group+1]]
}

// apply applies the rules to f; they override earlier results.
func (r *Rules) apply(f *finding, line []byte) {
	if m, ok := r.moment(f, line); ok {
		f.moment, f.found = m, true
	}
	if r.level == nil {
		return
	}
	word := submatch(r.level, r.levelGroup, line)
	if len(word) == 0 {
		return
	}
	l, ok := r.levels[string(word)]
	if !ok {
		l = record.LevelFromAlias(string(word))
	}
	if l != record.None {
		f.level = l
	}
}

func (r *Rules) moment(f *finding, line []byte) (moment, bool) {
	text := line
	if r.time != nil {
		if text = submatch(r.time, r.timeGroup, line); len(text) == 0 {
			return moment{}, false
		}
	}
	switch {
	case r.format != nil:
		return r.format.find(text)
	case r.time != nil:
		var m moment
		ok := f.wholeTime(&m, slices.Clip(trimSpace(text)))
		return m, ok
	}
	return moment{}, false
}
