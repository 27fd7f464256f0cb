package recognize

import (
	"time"

	"logstow/record"
)

// maxOffsetHours is the largest offset of a zone from UTC in hours.
const maxOffsetHours = 15

// zone reads an optional zone at b[i], right behind the clock, and converts m to UTC if
// there is one. It returns the end of the time, or 0 if the next byte cannot follow a time.
func (m *moment) zone(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case 'Z', 'z':
		m.utc = true
		if i++; i < len(b) && b[i] == '[' {
			i = regionGroup(b, i)
		}
	case '+', '-':
		if i = m.offset(b, i); 0 < i && i < len(b) && b[i] == '[' {
			i = regionGroup(b, i)
		}
		return i
	case ' ':
		switch {
		case isUTCColumn(b, i):
			m.utc = true
			return i + len(utcColumn) - 1
		case i+2 < len(b) && (b[i+1] == '(' || b[i+1] == '['):
			if c := b[i+2]; c == '+' || c == '-' || c-'A' < 26 {
				return m.zoneGroup(b, i+1)
			}
			return i
		case !mayBeZoneColumn(b, i):
			return i
		}
		return m.zoneColumn(b, i)
	}
	if !ends(b, i) {
		if b[i]-'A' < 26 { // 15:04:05UTC
			if end := m.zoneName(b, i-1); end >= i {
				return end
			}
		}
		return 0
	}
	return i
}

// regionGroup returns the end of the region in the brackets at b[i], as Java writes it behind an offset: Z[UTC], +01:00[Europe/Berlin]; i
// if there is none.
func regionGroup(b []byte, i int) int {
	end := wordEnd(b, i+1)
	known := isUTC(b[i+1 : end])
	if !known && end < len(b) && b[end] == '/' && isArea(b[i+1:end]) {
		end, known = regionEnd(b, end), true
	}
	if !known || end >= len(b) || b[end] != ']' {
		return i
	}
	return end + 1
}

// zoneGroup reads an optional zone in the brackets at b[i], behind a blank: (CET), [+0100], [UTC]. It returns the end of the time.
func (m *moment) zoneGroup(b []byte, i int) int {
	const longest = len("(UTC+01:00)")
	end := groupEnd(b[:min(len(b), i+longest)], i)
	if end < 0 {
		return i - 1
	}
	name := b[i+1 : end-1]
	minutes := zoneNamed(name)
	switch {
	case len(name) >= len("+0100") && (name[0] == '+' || name[0] == '-'), len(name) >= 3 && isUTC(name[:3]),
		b[i] == '(' && minutes != zoneUnknown && minutes != zoneAmbiguous: // [ART] is more likely a name
		if m.zoneColumn(b[:end-1], i) == end-1 {
			return end
		}
	}
	return i - 1
}

// utcColumn is the zone of most access logs.
const utcColumn = " +0000]"

// isUTCColumn reports whether that zone stands at b[i].
func isUTCColumn(b []byte, i int) bool {
	return len(b) >= i+len(utcColumn) && b[i+1] == '+' && string(b[i:i+len(utcColumn)]) == utcColumn
}

// mayBeZoneColumn reports whether a zone could stand behind the blank at b[i]. It is false for levels and most other words.
func mayBeZoneColumn(b []byte, i int) bool {
	if len(b) < i+6 {
		return len(b) >= i+3 && (b[i+1]-'A' < 26 || b[i+1] == '+' || b[i+1] == '-')
	}
	w := b[i+1 : i+6]
	switch c := w[0]; {
	case c == '+' || c == '-' || c == 'Z' && w[1] == ' ':
		return true
	case c-'A' >= 26, c == 'D' && w[1] == 'E': // DEBUG
		return false
	case w[1]-'a' < 26:
		return true
	}
	// Abbreviations end with T, but for UTC, MSK, MSD, WIB and WITA.
	switch w[2] {
	case 'T', 'C', 'K', 'D', 'B', ' ':
		return true
	}
	return w[3] == 'T' || w[3] == 'A' || w[4] == 'T'
}

// zoneColumn reads an optional zone behind the blank at b[i]: an offset, a name, both, or a region. It returns
// its end, or i.
func (m *moment) zoneColumn(b []byte, i int) int {
	if i+1 >= len(b) {
		return i
	}
	switch c := b[i+1]; {
	case c == 'Z' && ends(b, i+2):
		m.utc = true
		return i + 2
	case c == '+' || c == '-':
		end := m.offset(b, i+1)
		if end == 0 {
			return i
		}
		// Go writes +0100 CET.
		if w := wordEnd(b, min(end+1, len(b))); end < len(b) && b[end] == ' ' && ends(b, w) && zoneNamed(b[end+1:w]) != zoneUnknown {
			return w
		}
		return end
	case c-'A' < 26:
		return m.zoneName(b, i)
	}
	return i
}

// zoneName reads a zone's name behind the blank at b[i]: CET, UTC+02:00, GMT-0300, Europe/Berlin. It returns its end, or i.
func (m *moment) zoneName(b []byte, i int) int {
	w := wordEnd(b, i+1)
	name := b[i+1 : w]
	if w < len(b) && b[w] == '/' {
		end := regionEnd(b, w)
		if end == 0 || !isArea(name) || !ends(b, end) {
			return i
		}
		m.named = zoneRegion
		return end
	}
	if len(name) < 2 || len(name) > 5 {
		return i
	}
	if isUTC(name) && w < len(b) && (b[w] == '+' || b[w] == '-') {
		if end := m.offset(b, w); end > 0 {
			return end
		}
		return i
	}
	if !ends(b, w) {
		return i
	}
	switch minutes := zoneNamed(name); {
	case minutes != zoneUnknown && offsetFollows(b, w): // of Java: GMT +0100
		return m.offset(b, w+1)
	case minutes == zoneUnknown:
		if !mayBeZone(name) || !columnFollows(b, w) {
			return i
		}
		m.named = zoneAssumed
	case minutes == zoneAmbiguous:
		m.named = zoneAssumed
	default:
		m.setZone(minutes)
	}
	return w
}

// offsetFollows reports whether behind a blank at b[i] an offset from UTC of four digits stands.
func offsetFollows(b []byte, i int) bool {
	return len(b) >= i+len(" +0100") && b[i] == ' ' && (b[i+1] == '+' || b[i+1] == '-') && digitsEnd(b, i+2) == i+len(" +0100") &&
		new(moment).offset(b, i+1) > 0
}

// setZone makes the time, which is that of a zone, one in UTC.
func (m *moment) setZone(minutes int) {
	m.second -= int64(minutes) * 60
	m.utc = true
}

// zoneFirst reads UTC Nov 20 15:04:05 of Monit.
func zoneFirst(b []byte) (moment, int) {
	w := wordEnd(b, 0)
	minutes := zoneNamed(b[:w])
	if minutes == zoneUnknown || minutes == zoneAmbiguous || b[w] != ' ' {
		return moment{}, 0
	}
	m, n := monthFirst(b, w+1)
	if n > 0 && !m.utc {
		m.setZone(minutes)
	}
	return m, n
}

// zoneLabel reads " UTC" or " GMT" at b[i], or another abbreviation before an identifier, as of Cisco: Nov 20 16:04:05.123
// CET: %SYS-5-RESTART. It returns its end, or i.
func (m *moment) zoneLabel(b []byte, i int) int {
	w := wordEnd(b, i+1)
	switch {
	case w-i == 4 && isUTC(b[i+1:w]) && ends(b, w):
		m.utc = true
		return w
	case w-i < 4 || w-i > 6 || w+2 >= len(b) || b[w] != ':' || b[w+1] != ' ' || b[w+2] != '%':
		return i
	}
	switch minutes := zoneNamed(b[i+1 : w]); minutes {
	case zoneUnknown:
		return i
	case zoneAmbiguous:
		m.named = zoneAssumed
	default:
		m.setZone(minutes)
	}
	return w
}

// offset reads an offset from UTC at b[i]: +hh:mm, +hhmm, +hh, DB2's +060 in minutes or, behind a name, +h. It
// returns the end, or 0 if there is no offset.
func (m *moment) offset(b []byte, i int) int {
	n := i + 1
	for n < len(b) && n < i+5 && b[n]-'0' <= 9 {
		n++
	}
	var hour, minute uint
	digits := n - i - 1
	if digits%2 == 1 && i > 0 && b[i-1] == ' ' { // more likely a number
		return 0
	}
	switch digits {
	case 1:
		hour = uint(b[i+1] - '0')
	case 3:
		minute = uint(b[i+1]-'0')*100 + two(b, i+2)
		hour, minute = minute/60, minute%60
	case 2:
		hour = two(b, i+1)
		if len(b) >= n+3 && b[n] == ':' && b[n+1]-'0' <= 9 {
			minute, n = two(b, n+1), n+3
		}
	case 4:
		hour, minute = two(b, i+1), two(b, i+3)
	default:
		return 0
	}
	if hour > maxOffsetHours || minute > 59 || !ends(b, n) {
		return 0
	}
	ahead := int64(hour*3600 + minute*60)
	if b[i] == '-' {
		ahead = -ahead
	}
	m.second -= ahead
	m.utc = true
	return n
}

// zoneKind tells what a time's zone is if it is not an offset.
type zoneKind uint8

const (
	zoneAssumed zoneKind = iota + 1 // a name that is unknown or has several meanings
	zoneRegion                      // a name of the zone database, at the end of the time
)

// Results of zoneNamed that are no offset.
const (
	zoneUnknown   = 1 << 14
	zoneAmbiguous = 1 << 13
)

// zoneNamed returns the offset in minutes of an abbreviation, zoneAmbiguous for one with several meanings, and zoneUnknown
// for another text. The names are those of the tz database (https://www.iana.org/time-zones), today's and those that it
// had until 2017; of CDT, PST and others the offset is that of RFC 5322, section 4.3.
func zoneNamed(name []byte) int {
	switch string(name) {
	case "UTC", "GMT", "UT", "WET", "AZOST":
		return 0
	case "CET", "MET", "WEST", "BST", "WAT":
		return 60
	case "CEST", "MEST", "EET", "CAT", "SAST":
		return 120
	case "EEST", "MSK", "EAT", "IDT", "TRT":
		return 180
	case "IRST":
		return 210
	case "MSD", "SAMT", "GET", "AZT":
		if string(name) == "GET" { // of Georgia, and of HTTP
			return zoneUnknown
		}
		return 240
	case "AFT":
		return 270
	case "PKT", "UZT", "YEKT", "TJT", "TMT":
		return 300
	case "NPT":
		return 345
	case "OMST", "KGT", "BTT":
		return 360
	case "MMT":
		return 390
	case "ICT", "WIB", "NOVT", "KRAT", "HOVT":
		return 420
	case "HKT", "SGT", "PHT", "MYT", "AWST", "WITA", "IRKT", "ULAT":
		return 480
	case "JST", "KST", "WIT", "YAKT":
		return 540
	case "ACST":
		return 570
	case "AEST", "VLAT", "ChST":
		return 600
	case "ACDT":
		return 630
	case "AEDT", "MAGT":
		return 660
	case "NZST", "FJT", "PETT":
		return 720
	case "NZDT":
		return 780
	case "NDT":
		return -150
	case "BRST":
		return -120
	case "NST":
		return -210
	case "BRT", "ART", "CLST", "UYT", "ADT":
		return -180
	case "AST", "EDT", "CLT", "VET", "BOT", "PYT":
		return -240
	case "EST", "CDT", "COT", "PET":
		return -300
	case "MDT", "GALT":
		return -360
	case "MST", "PDT":
		return -420
	case "PST", "AKDT":
		return -480
	case "AKST", "HDT":
		return -540
	case "HST":
		return -600
	case "CST", "IST", "GST", "AMT", "AMST", "SST", "ACT", "WST", "ALMT":
		return zoneAmbiguous
	}
	return zoneUnknown
}

// mayBeZone reports whether a word could be the abbreviation of a zone that zoneNamed does not have.
func mayBeZone(word []byte) bool {
	if len(word) < 3 || word[len(word)-1] != 'T' || record.LevelFromAlias(word) != record.None { // CRIT
		return false
	}
	for _, c := range word {
		if c-'A' >= 26 {
			return false
		}
	}
	switch string(word) {
	case "GET", "PUT", "HOST", "POST", "PORT", "NOT", "BUT", "OUT", "SET", "LIST", "TEST", "ROOT", "LAST", "NEXT", "REST",
		"EVENT", "AGENT", "REACT", "ABORT", "RESET", "START", "PRINT", "COUNT", "EXIT", "INIT", "UNIT", "AUDIT", "EDIT", "WAIT",
		"NET", "JWT", "MQTT", "SWIFT", "BOOT", "FAULT", "GRANT", "INPUT", "PATCH", "QUIT", "STAT", "AT", "BAT", "DHT":
		return false
	}
	return true
}

// columnFollows reports whether behind a blank at b[i] stands a bracket or a level in upper case.
func columnFollows(b []byte, i int) bool {
	i, _ = skipSeparators(b, i)
	if i >= len(b) {
		return false
	}
	w := wordEnd(b, i)
	return b[i] == '[' || w > i && b[i]-'A' < 26 && b[w-1]-'A' < 26 && record.LevelFromAlias(b[i:w]) != record.None
}

// isArea reports whether regions of the zone database begin with a name.
func isArea(name []byte) bool {
	switch string(name) {
	case "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Brazil", "Canada", "Chile", "Etc", "Europe",
		"Indian", "Mexico", "Pacific", "US":
		return true
	}
	return false
}

// regionEnd returns the end of a region's name whose first slash is b[i], or 0 if nothing follows it.
func regionEnd(b []byte, i int) int {
	n := i + 1
	for n < len(b) && (inSet(b[n], nameLow, nameHigh) || b[n] == '/' || b[n] == '+') {
		n++
	}
	if n == i+1 {
		return 0
	}
	return n
}

// regions are the regions of a source's times. The zero value is ready to use.
type regions struct {
	name     []byte
	location *time.Location // of name, nil if it does not exist
	clock    clock
}

// maxRegion is the length of the longest name of a region.
const maxRegion = 32

// resolve converts a moment to UTC whose text ends with a region.
func (r *regions) resolve(m *moment, text []byte) {
	start := len(text)
	for start > 0 && text[start-1] != ' ' {
		start--
	}
	name := text[start:]
	if string(name) != string(r.name) {
		r.name, r.location = append(r.name[:0], name...), nil
		if len(name) <= maxRegion {
			if location, err := time.LoadLocation(string(name)); err == nil {
				r.location, r.clock = location, newClock(location)
			}
		}
	}
	if r.location == nil || m.month != 0 {
		m.named = zoneAssumed
		return
	}
	m.named, m.utc = 0, true
	m.second = r.clock.utc(m.second)
}
