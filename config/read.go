package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/message/parse"
	"logstow/process"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// config reads the whole file.
func (d *decoder) config(s *section) *Config {
	c := &Config{}
	s.stringList("store", &c.Stores)
	read(s, "instance", &c.Instance, func(v string) (string, error) {
		return v, valid(blobnaming.ValidInstance(v), "%q: want 1 to %d of A-Z a-z 0-9 . _ -", v, blobnaming.MaxInstance)
	})
	read(s, "bucket", &c.Bucket, func(v string) (time.Duration, error) {
		w, err := time.ParseDuration(v)
		return w, valid(err == nil && blobnaming.ValidWidth(w), "%q: want 5m, 10m, 15m, 20m, 30m or 60m", v)
	})
	s.duration("flush-interval", &c.FlushInterval)
	s.duration("max-flush-interval", &c.MaxFlushInterval)
	s.size("flush-size", &c.FlushSize)
	s.duration("max-lateness", &c.MaxLateness)
	s.number("open-buckets", 1, &c.OpenBuckets)
	s.duration("retry-for", &c.RetryFor)
	s.duration("drain-timeout", &c.DrainTimeout)
	read(s, "watch-interval", &c.WatchInterval, func(v string) (string, error) {
		_, err := ParseWatchInterval(v)
		return v, err
	})
	s.number("max-watch-flushes", 1, &c.MaxWatchFlushes)
	read(s, "filter", &c.Filter, oneOf("on", "off"))
	read(s, "index", &c.Index, oneOf("on", "off"))
	d.columns(s, &c.Columns)
	s.address("metrics", &c.Metrics)
	c.LogMetrics = d.logMetrics(s)
	d.buffer(s.section("buffer"), &c.Buffer)
	var defaults Common
	d.common(s, &defaults)
	addresses := map[string]int{}
	for _, in := range s.sections("inputs") {
		inputs := d.input(in, defaults)
		d.checkAddresses(in, inputs, addresses)
		c.Inputs = append(c.Inputs, inputs...)
	}
	s.done()
	return c
}

// columns reads auto, off or names. Names are elements of a list or separated by commas.
func (d *decoder) columns(s *section, to *string) {
	var names []string
	s.stringList("columns", &names)
	*to = strings.Join(names, ",")
	if s.has("columns") {
		if _, err := ParseColumns(*to); err != nil {
			d.fail(s.get("columns"), "columns: %v", err)
		}
	}
}

func (d *decoder) buffer(s *section, b *Buffer) {
	read(s, "mode", &b.Mode, oneOf("disk", "memory"))
	s.text("dir", &b.Dir)
	s.size("size", &b.Size)
	s.text("sync", &b.Sync)
	read(s, "on-full", &b.OnFull, oneOf("block", "drop-oldest"))
	read(s, "on-lost-positions", &b.OnLostPositions, oneOf("reread", "skip", "stop"))
	s.done()
}

// ParseParser compiles a parser of messages, such as pattern '<ip> <_>', and returns it in the form that a
// segment's footer contains, which is "" for auto. Errors contain the position of the mistake.
func ParseParser(v string) (string, error) {
	p, err := parse.Compile(v)
	if err != nil {
		return "", err
	}
	return p.Stored(), nil
}

// common reads the keys that all inputs have. It keeps the existing values of missing keys.
func (d *decoder) common(s *section, c *Common) {
	read(s, "service", &c.Service, func(v string) (string, error) {
		if !strings.Contains(v, "{") {
			return v, valid(blobnaming.ValidService(v), "%q: want at most 63 of a-z, 0-9 and, inside, . _ -", v)
		}
		_, err := container.ParsePattern(v)
		return v, err
	})
	read(s, "class", &c.Class, func(v string) (string, error) {
		return v, valid(blobnaming.ValidClass(v), "%q: want at most %d of a-z and 0-9", v, blobnaming.MaxClass)
	})
	read(s, "parse", &c.Parse, ParseParser)
	s.text("source-prefix", &c.SourcePrefix)
	s.size("max-record", &c.MaxRecord)
	if c.MaxRecord != 0 && (c.MaxRecord < input.MinMaxRecord || c.MaxRecord > record.MaxSize) {
		d.fail(s.get("max-record"), "max-record: want 1KiB to 16MiB")
	}
	s.duration("max-ahead", &c.MaxAhead)
	read(s, "time-zone", &c.Zone, time.LoadLocation)
	read(s, "date-order", &c.DateOrder, ParseDateOrder)
	d.rules(s, &c.Rules)
	read(s, "format", &c.Format, container.ParseFormat)
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

// multiline reads off, auto, a regular expression, or a mapping.
func (d *decoder) multiline(s *section, c *Common) {
	node := s.get("multiline")
	if node == nil {
		return
	}
	opts := &multiline.Options{}
	c.Multiline = opts
	mode := func(v string) (string, error) { return v, multilineMode(v, opts) }
	switch d.resolveAlias(node).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		if text, ok := d.scalar(node); ok {
			if _, err := mode(text); err != nil {
				d.fail(node, "multiline: %v", err)
			}
		}
		return
	}
	m := d.section(node)
	opts.Auto = !m.has("start")
	read(m, "start", new(string), mode)
	m.duration("timeout", &opts.Timeout)
	m.number("max-lines", 2, &opts.MaxLines)
	m.done()
}

// The orders of day and month in dates such as 10/11/2026.
const (
	MonthFirst = "mdy"
	DayFirst   = "dmy"
)

// ParseDateOrder parses [MonthFirst] or [DayFirst].
func ParseDateOrder(v string) (string, error) {
	return v, valid(v == MonthFirst || v == DayFirst, "%q: want %s or %s", v, MonthFirst, DayFirst)
}

// ParseMultiline parses off, auto, or the regular expression that matches the first lines of records.
func ParseMultiline(v string) (*multiline.Options, error) {
	opts := &multiline.Options{}
	return opts, multilineMode(v, opts)
}

func multilineMode(v string, opts *multiline.Options) (err error) {
	switch v {
	case "off", "false":
	case "auto":
		opts.Auto = true
	default:
		opts.Start, err = regexp.Compile(v)
	}
	return err
}

// processing reads the processing of records.
func (d *decoder) processing(s *section, p *process.Options) {
	if s.has("redact") {
		p.Redact = nil
	}
	s.stringList("redact", &p.Redact)
	for _, kind := range p.Redact {
		if kind != "all" && !slices.Contains(process.Kinds(), kind) && s.has("redact") {
			d.fail(s.get("redact"), "redact: %q: want %s", kind, list(append(process.Kinds(), "all")))
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
	read(s, "where", &r.Where, func(v string) (string, error) { return v, process.CheckWhere(v) })
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

func oneOf(words ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		for _, w := range words {
			if v == w {
				return v, nil
			}
		}
		return v, fmt.Errorf("%s: want %s", strconv.Quote(v), list(words))
	}
}

func valid(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
