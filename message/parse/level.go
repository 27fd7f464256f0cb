package parse

import (
	"logstow/message"
	"logstow/record"
)

// Level returns the level of a message by its fields: the status of an access log (see [StatusLevel]), klog's letter, or the number in
// the member "level" of a JSON message. The number is a syslog severity in a GELF message, otherwise a level of pino or bunyan, 10 to
// 69. With a pattern or a regular expression it is the name of a level in the capture "level" or "severity", otherwise the status in the capture
// "status". It is not ok if there is none. Package recognize finds levels in other places.
func (p *Parser) Level(message []byte) (level record.Level, ok bool) {
	switch {
	case p.formats != nil:
		if len(message) > 0 && message[0] == '{' {
			return jsonLevel(message)
		}
		return p.formats.level(message)
	case p.index(nameLevel) >= 0 || p.index(nameSeverity) >= 0 || p.index(nameStatus) >= 0:
		return p.capturedLevel(message)
	}
	return record.None, false
}

// The captures that determine the level.
const (
	nameLevel    = "level"
	nameSeverity = "severity"
	nameStatus   = "status"
)

func (p *Parser) capturedLevel(message []byte) (record.Level, bool) {
	var space [16]span
	captures := space[:]
	if len(p.captures) > len(space) {
		captures = make([]span, len(p.captures))
	}
	p.match(message, captures)
	text := func(name string) []byte {
		i := p.index(name)
		if i < 0 {
			return nil
		}
		return message[captures[i].start:captures[i].end]
	}
	for _, name := range [...]string{nameLevel, nameSeverity} {
		if level := record.LevelFromAlias(text(name)); level != record.None {
			return level, true
		}
	}
	return StatusLevel(text(nameStatus))
}

// level returns the level of a message of a text format.
func (f *formats) level(message []byte) (record.Level, bool) {
	switch format, _ := recognizeColumns(message); format {
	case plain:
		return record.None, false
	case klog:
		return klogLevel(message[0]), true
	}
	var l line
	f.split(&l, message, &f.status)
	if severity := l.get(idSeverity); severity != nil {
		level := record.LevelFromAlias(severity)
		return level, level != record.None
	}
	return StatusLevel(l.get(idStatus))
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
	number, gelf := -1, 0
	members := message.Object(object)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		switch string(name) {
		case "version", "host", "short_message":
			gelf++
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
