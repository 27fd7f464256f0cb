package parse

import (
	"logstow/message"
	"logstow/record"
)

// A Leveler finds the levels of messages by their fields. Not safe for concurrent use.
type Leveler struct {
	parser   *Parser
	line     line // for auto
	captures places
}

// Leveler makes a Leveler.
func (p *Parser) Leveler() *Leveler {
	return &Leveler{parser: p}
}

// Level returns the level of a message by its fields: the status of an access log (see [StatusLevel]), klog's letter, or the number in
// the member "level" of a JSON message. The number is a syslog severity in a GELF message, 0 to 4 in one of Nextcloud, 1 (critical) to
// 5 in a resource log of Azure, otherwise a level of pino or bunyan, 10 to 69. With a pattern or a regular expression it is the name
// of a level in the capture "level" or "severity", otherwise the status in the capture "status". It is not ok if there is none.
// Package recognize finds levels in other places.
func (l *Leveler) Level(message []byte) (level record.Level, ok bool) {
	switch p := l.parser; {
	case p.formats != nil:
		if len(message) > 0 && message[0] == '{' {
			return jsonLevel(message)
		}
		return p.formats.level(&l.line, message)
	case p.index(nameLevel) >= 0 || p.index(nameSeverity) >= 0 || p.index(nameStatus) >= 0:
		return l.captured(message)
	}
	return record.None, false
}

// The captures that determine the level.
const (
	nameLevel    = "level"
	nameSeverity = "severity"
	nameStatus   = "status"
)

func (l *Leveler) captured(message []byte) (record.Level, bool) {
	l.captures = l.parser.match(l.captures[:0], message)
	text := func(name string) []byte {
		i := l.parser.index(name)
		if i < 0 {
			return nil
		}
		value, _ := l.captures.of(message, i)
		return value
	}
	for _, name := range [...]string{nameLevel, nameSeverity} {
		if level := record.LevelFromAlias(text(name)); level != record.None {
			return level, true
		}
	}
	return StatusLevel(text(nameStatus))
}

// level returns the level of a message of a text format, which it splits into l.
func (f *formats) level(l *line, message []byte) (record.Level, bool) {
	format, start := recognizeColumns(message)
	switch format {
	case plain:
		return record.None, false
	case klog:
		return klogLevel(message[0]), true
	}
	f.splitAs(format, start, l, message, &f.status)
	severity, status := l.get(idSeverity), l.get(idStatus)
	l.text, l.rest = nil, nil // the caller's
	if severity != nil {
		level := record.LevelFromAlias(severity)
		return level, level != record.None
	}
	return StatusLevel(status)
}

func klogLevel(severity byte) record.Level {
	switch severity {
	case 'W':
		return record.Warn
	case 'E':
		return record.Error
	case 'F':
		return record.Fatal
	}
	return record.Info
}

// StatusLevel is the level of a response with an HTTP status: ERROR from 500 on, WARN from 400 on,
// otherwise INFO. It is not ok unless the status is a number from 100 to 599.
func StatusLevel(status []byte) (level record.Level, ok bool) {
	if len(status) != 3 || !isDigit(status[1]) || !isDigit(status[2]) {
		return record.None, false
	}
	switch status[0] {
	case '1', '2', '3':
		return record.Info, true
	case '4':
		return record.Warn, true
	case '5':
		return record.Error, true
	}
	return record.None, false
}

// jsonLevel is the numeric level of a JSON message.
func jsonLevel(object []byte) (record.Level, bool) {
	number, gelf, nextcloud, azure := -1, 0, 0, 0
	members := message.Object(object)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		switch string(name) {
		case "version", "host", "short_message":
			gelf++
		case "reqId", "app":
			nextcloud++
		case "category", "operationName", "resourceId":
			azure++
		case "level":
			if number < 0 {
				if number = smallNumber(value); number < 0 {
					return record.None, false
				}
			}
		}
	}
	level := record.None
	switch {
	case number >= 0 && number < 8 && gelf == 3:
		level = record.LevelFromSyslog(number)
	case number >= 0 && number < 5 && nextcloud == 2:
		level = record.Debug + record.Level(number)
	case number >= 1 && number < 6 && azure > 1:
		level = [...]record.Level{record.Fatal, record.Error, record.Warn, record.Info, record.Trace}[number-1]
	case number >= 10 && number < 70:
		level = record.Trace + record.Level(number/10-1)
	}
	return level, level != record.None
}

// smallNumber parses a number of one or two digits; it returns -1 for other text.
func smallNumber(b []byte) int {
	if len(b) == 0 || len(b) > 2 {
		return -1
	}
	n := 0
	for _, c := range b {
		if !isDigit(c) {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
