// Package formats has logs in the formats of many programs, with the records that they must become.
//
// The files in data have one format after the other:
//
//	== nginx error log
//	record: 2026-11-20T15:04:05Z ERROR
//	field client: 10.0.0.1
//	--
//	2026/11/20 15:04:05 [error] 7#7: *1 open() failed, client: 10.0.0.1
//
// Each line "record" is a record, in order: its time, "=" for that of the record before and "-" for none, and its level, "-"
// for none. The further lines before "--" are optional:
//
//	field NAME: VALUE    a field of the first record
//	fields: later        the fields are not found yet
//	level: later         the level is not found yet, because it is that of a field
//	network: no fields   records from the network have no fields, because other lines determine them
//	parts: lines         each line has several records
//	parts: file          the file is one array of records, which logq alone takes apart
//	wrapped              a container runtime has wrapped the lines
//	syslog               the lines are syslog messages with a priority
//	quoted               the lines have escapes of Go, such as \x1b
//	zone: NAME           the configured zone
//
// Times without a year or date are read at [Now].
package formats

import (
	"bufio"
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"logstow/record"
)

//go:embed data
var data embed.FS

// Now returns the time at which the logs are read.
func Now() time.Time { return time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC) }

// Format is a log of one program.
type Format struct {
	// Name is unique.
	Name string
	// Text is the log, as in a file.
	Text string
	// Records are the records of the log.
	Records []Record
	// Fields are some fields of the first record.
	Fields []Field
	// FieldsLater is set if Fields are not found yet.
	FieldsLater bool
	// LevelLater is set if the levels of Records are not found yet.
	LevelLater bool
	// NoNetworkFields is set if records from the network do not have Fields, nor levels that depend on them.
	NoNetworkFields bool
	// Parts says what has several records: NoParts, Lines or File.
	Parts Parts
	// Wrapped is set if a container runtime has wrapped the lines.
	Wrapped bool
	// Syslog is set if the lines are syslog messages with a priority.
	Syslog bool
	// Zone is the configured zone.
	Zone *time.Location
}

// Parts says what of a log has several records.
type Parts uint8

const (
	// NoParts is a log of lines of which each is at most one record.
	NoParts Parts = iota
	// Lines are lines of several records.
	Lines
	// File is an array of records.
	File
)

// Record is what is known of a record.
type Record struct {
	// Time is the time in the record; it is zero if there is none.
	Time time.Time
	// Same is set if the record has the time of the one before it.
	Same bool
	// Level is record.None if there is none.
	Level record.Level
}

// Field is a field with the text of its value.
type Field struct{ Name, Value string }

// All returns all formats.
func All() ([]Format, error) {
	files, err := data.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var all []Format
	for _, file := range files {
		text, err := data.ReadFile(path.Join("data", file.Name()))
		if err != nil {
			return nil, err
		}
		p := parser{lines: bufio.NewScanner(strings.NewReader(string(text)))}
		if err := p.file(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file.Name(), p.line, err)
		}
		all = append(all, p.all...)
	}
	return all, nil
}

// parser reads a file.
type parser struct {
	lines *bufio.Scanner
	line  int
	all   []Format
	// head is set in the lines before "--".
	head, quoted bool
}

func (p *parser) file() error {
	for p.lines.Scan() {
		p.line++
		line := p.lines.Text()
		if name, ok := strings.CutPrefix(line, "== "); ok {
			p.all = append(p.all, Format{Name: name, Zone: time.UTC})
			p.head, p.quoted = true, false
			continue
		}
		if len(p.all) == 0 {
			return fmt.Errorf("%q before the first format", line)
		}
		f := &p.all[len(p.all)-1]
		if p.head {
			if err := p.headLine(f, line); err != nil {
				return err
			}
			continue
		}
		if p.quoted {
			var err error
			if line, err = strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
		}
		f.Text += line + "\n"
	}
	return p.lines.Err()
}

// headLine reads a line before "--".
func (p *parser) headLine(f *Format, line string) error {
	key, value, _ := strings.Cut(line, ": ")
	if name, ok := strings.CutPrefix(key, "field "); ok {
		f.Fields = append(f.Fields, Field{name, value})
		return nil
	}
	switch line {
	case "--":
		p.head = false
		return nil
	case "quoted":
		p.quoted = true
		return nil
	case "fields: later":
		f.FieldsLater = true
		return nil
	case "level: later":
		f.LevelLater = true
		return nil
	case "network: no fields":
		f.NoNetworkFields = true
		return nil
	case "parts: lines":
		f.Parts = Lines
		return nil
	case "parts: file":
		f.Parts = File
		return nil
	case "wrapped":
		f.Wrapped = true
		return nil
	case "syslog":
		f.Syslog = true
		return nil
	}
	var err error
	switch key {
	case "record":
		var r Record
		r, err = parseRecord(value)
		f.Records = append(f.Records, r)
	case "zone":
		f.Zone, err = time.LoadLocation(value)
	default:
		err = fmt.Errorf("%q is not known", line)
	}
	return err
}

// parseRecord parses a time and a level.
func parseRecord(text string) (r Record, err error) {
	when, level, _ := strings.Cut(text, " ")
	switch when {
	case "-":
	case "=":
		r.Same = true
	default:
		if r.Time, err = time.Parse(time.RFC3339Nano, when); err != nil {
			return r, err
		}
	}
	if level != "-" {
		if r.Level = record.LevelFromAlias([]byte(level)); r.Level == record.None {
			return r, fmt.Errorf("%q is no level", level)
		}
	}
	return r, nil
}
