package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/process"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// config reads the whole file.
func (d *decoder) config(s *section) *Config {
	c := New()
	s.stringList("store", &c.Stores)
	s.settings(c.top())
	s.duration("max-lateness", &c.MaxLateness)
	s.number("open-buckets", 1, &c.MaxOpen)
	c.LogMetrics = d.logMetrics(s)
	buffer := s.section("buffer")
	buffer.settings(c.bufferSection())
	buffer.done()
	defaults := NewCommon()
	d.common(s, &defaults)
	for _, in := range s.sections("inputs") {
		inputs := d.input(in, defaults)
		d.addresses(in, inputs, c.Addresses)
		c.Inputs = append(c.Inputs, inputs...)
	}
	s.done()
	return c
}

// settings reads the keys of settings. It keeps the existing values of missing keys.
func (s *section) settings(all []Setting) {
	for _, one := range all {
		switch one.key {
		case columnsKey:
			s.columns(one.Set)
		default:
			if one.key != multilineKey || !s.isSection(one.key) {
				s.value(one.key, one.Set)
			}
		}
	}
}

// columns reads auto, off or names. Names are elements of a list or separated by commas.
func (s *section) columns(set func(string) error) {
	var names []string
	s.stringList(columnsKey, &names)
	if s.has(columnsKey) {
		if err := set(strings.Join(names, ",")); err != nil {
			s.d.fail(s.get(columnsKey), "%s: %v", columnsKey, err)
		}
	}
}

// common reads the keys that all inputs have. It keeps the existing values of missing keys.
func (d *decoder) common(s *section, c *Common) {
	read(s, "service", &c.Service, func(v string) (string, error) {
		if !strings.Contains(v, "{") {
			return ParseService(v)
		}
		_, err := container.ParsePattern(v)
		return v, err
	})
	s.settings(c.Flags())
	s.text("source-prefix", &c.SourcePrefix)
	s.duration("max-ahead", &c.MaxAhead)
	d.rules(s, &c.Rules)
	d.multiline(s, c)
	d.processing(s, &c.Process)
}

// rules reads the rules for timestamps and levels that are not recognized automatically.
func (d *decoder) rules(s *section, r *recognize.RuleOptions) {
	s.text("time-format", &r.TimeFormat)
	s.text("time-regexp", &r.TimeRegexp)
	s.text("level-regexp", &r.LevelRegexp)
	if node := s.get("levels"); node != nil {
		r.Levels = map[string]string{}
		words := d.section(node)
		for _, e := range words.keys {
			word := e.Key.GetToken().Value
			if level, _, ok := words.scalar(word); ok {
				r.Levels[word] = level
			}
		}
	}
	// Compile each rule separately, so that problems are reported at its position.
	for _, one := range []struct {
		key  string
		opts recognize.RuleOptions
	}{
		{"time-format", recognize.RuleOptions{TimeFormat: r.TimeFormat}},
		{"time-regexp", recognize.RuleOptions{TimeRegexp: r.TimeRegexp}},
		{"level-regexp", recognize.RuleOptions{LevelRegexp: r.LevelRegexp}},
		{"levels", recognize.RuleOptions{LevelRegexp: "()" + r.LevelRegexp, Levels: r.Levels}},
	} {
		if _, err := recognize.Compile(one.opts); err != nil && s.has(one.key) {
			d.fail(s.get(one.key), "%s: %v", one.key, err)
		}
	}
}

// multiline reads the section multiline.
func (d *decoder) multiline(s *section, c *Common) {
	if !s.isSection(multilineKey) {
		return
	}
	opts := &multiline.Options{Auto: true}
	m := s.section(multilineKey)
	read(m, "start", &opts, parseMultiline)
	m.duration("timeout", &opts.Timeout)
	m.number("max-lines", 2, &opts.MaxLines)
	m.done()
	c.Multiline = opts
}

// processing reads the processing of records.
func (d *decoder) processing(s *section, p *process.Options) {
	if s.has("redact") {
		p.Redact = nil
	}
	s.stringList("redact", &p.Redact)
	for _, kind := range p.Redact {
		if kind != "all" && !slices.Contains(process.Kinds(), kind) && s.has("redact") {
			d.fail(s.get("redact"), "redact: %q: want %s", kind, wordList(append(process.Kinds(), "all")))
		}
	}
	for _, one := range s.sections("redact-regexps") {
		var r process.Replacement
		read(one, "regexp", &r.Regexp, regexp.Compile)
		one.text("with", &r.With)
		one.done()
		if r.Regexp == nil {
			d.missing(one, "regexp")
		}
		p.Replace = append(p.Replace, r)
	}
	p.Drop = append(p.Drop, d.conditions(s, "drop")...)
	p.Keep = append(p.Keep, d.conditions(s, "keep")...)
	for _, one := range s.sections("sample") {
		var sample process.Sample
		d.rule(one, &sample.Rule)
		one.number("one-in", 1, &sample.OneIn)
		one.done()
		if sample.OneIn == 0 {
			d.missing(one, "one-in")
		}
		p.Sample = append(p.Sample, sample)
	}
	d.attributes(s.section("attributes"), p)
	s.float("rate-limit", &p.RateLimit)
	s.number("rate-burst", 1, &p.Burst)
	s.size("rate-limit-bytes", &p.ByteLimit)
	s.size("rate-burst-bytes", &p.ByteBurst)
}

func (d *decoder) conditions(s *section, key string) (rules []process.Rule) {
	for _, one := range s.sections(key) {
		var r process.Rule
		d.rule(one, &r)
		one.done()
		if !one.has("level") && !one.has("contains") && !one.has("regexp") && !one.has("where") {
			d.missing(one, "level, contains, regexp or where")
		}
		rules = append(rules, r)
	}
	return rules
}

func (d *decoder) rule(s *section, r *process.Rule) {
	read(s, "level", &r.Levels, record.ParseLevels)
	s.stringList("contains", &r.Contains)
	read(s, "regexp", &r.Regexp, regexp.Compile)
	read(s, "where", &r.Where, checked(checkWhere))
}

// attributes reads which attributes stay.
func (d *decoder) attributes(s *section, p *process.Options) {
	s.stringList("keep", &p.KeepAttributes)
	s.stringList("drop", &p.DropAttributes)
	s.stringList("labels", &p.LabelAttributes)
	s.done()
	_, err := attributes.NewSelection(p.KeepAttributes, p.DropAttributes)
	_, labelErr := attributes.NewLabeler(p.LabelAttributes)
	if err := errors.Join(err, labelErr); err != nil && len(s.keys) > 0 {
		d.fail(s.node, "attributes: %v", err)
	}
}

// missing reports a required key if it is missing.
func (d *decoder) missing(s *section, key string) {
	if s.node != nil && !s.has(key) {
		d.fail(s.node, "%s is missing", key)
	}
}
