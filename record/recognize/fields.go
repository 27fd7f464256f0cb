package recognize

import (
	"bytes"

	"logstow/internal/ansi"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/internal/civil"
)

// field is the meaning of a field's value, by its name.
type field uint8

const (
	fieldOther      field = iota
	fieldTime             // a time in any layout, or an epoch number
	fieldLevel            // a level's name, or pino's and bunyan's number, 10 to 60
	fieldSyslog           // a syslog severity, 0 to 7
	fieldOTel             // an OpenTelemetry severity number, 1 to 24
	fieldPython           // Python's level number, 10 to 50
	fieldInsights         // a level's name, or the number of Application Insights, 0 to 4
	fieldMessage          // may hold auditd's time
	fieldSeverity         // MongoDB's severity letter
	fieldZone             // the zone of a date and a clock in fields of their own
	fieldSeconds          // seconds since 1970, with nanoseconds in a field of their own
	fieldNanos            // these nanoseconds
	fieldNested           // may be an object that holds the level, or a wrapped line
	fieldWrapped          // may be a wrapped line
	fieldCategory         // of a resource log of Azure
	fieldProperties       // of such a log
	fieldLoguru           // may be an object of Python's loguru with time and level
	fieldStatus           // the HTTP status of a response
	fieldRequest          // a request, or a part of it, to which a status belongs
	fieldStart            // when something began, the time if no other field is
	fieldTags             // tags, one of which may be a level
	fieldType             // the type of an event of Kubernetes, or the priority of one of Falco
	fieldReason           // its reason, or rule
)

// fieldOf returns the meaning of a field with one of the usual names.
func fieldOf(name []byte) field {
	switch string(name) {
	case "time", "ts", "t", "timestamp", "@timestamp", "Timestamp", "@t", "epoch":
		return fieldTime
	case "level", "lvl", "@l", "severity", "Level":
		return fieldLevel
	case "PRIORITY", "syslog_severity", "severity_code", "syslog.severity", "log.syslog.severity.code":
		return fieldSyslog
	case "levelno":
		return fieldPython
	case "tz":
		return fieldZone
	case "timestampSeconds":
		return fieldSeconds
	case "timestampNanos":
		return fieldNanos
	case "msg":
		return fieldMessage
	case "category":
		return fieldCategory
	case "properties":
		return fieldProperties
	case "s":
		return fieldSeverity
	case "log":
		return fieldNested
	case "message", "Log", "LogMessage":
		return fieldWrapped
	case "record":
		return fieldLoguru
	case "status", "status_code", "statusCode", "response_code", "http_status":
		return fieldStatus
	case "request", "request_method", "requestMethod", "method", "http_method", "request_uri", "verb":
		return fieldRequest
	case "tags":
		return fieldTags
	case "type", "Type", "priority":
		return fieldType
	case "reason", "Reason", "rule":
		return fieldReason
	}
	if n := len(name); n > 1 && inSet(name[n-1]|0x20, 1<<'1', lastLetters) {
		return foldedField(name)
	}
	return fieldOther
}

// lastLetters are those with which the names of foldedField end.
const lastLetters = (1<<'c' | 1<<'d' | 1<<'e' | 1<<'l' | 1<<'o' | 1<<'p' | 1<<'r' | 1<<'s' | 1<<'t' | 1<<'y') >> 64

// foldedField is fieldOf for names of times and levels in other spellings: log_level, logLevel, LogLevel, log.level and LOG-LEVEL are one.
func foldedField(name []byte) field {
	const longest = len("requestReceivedTimestamp")
	if len(name) > longest {
		return fieldOther
	}
	var space [longest]byte
	folded := space[:0]
	for _, c := range name {
		switch {
		case c == '_' || c == '-' || c == '.':
			continue
		case c-'A' < 26:
			c |= 0x20
		}
		folded = append(folded, c)
	}
	switch string(folded) {
	case "time", "ts", "t", "timestamp", "@timestamp", "@t", "@time", "date", "datetime", "dt", "instant", "asctime",
		"eventtime", "eventtimestamp", "logtime", "logtimestamp", "loggedat", "writtenat", "recordtime", "occurredat",
		"timegenerated", "timecreated", "utctime", "timeutc", "timestamputc", "utctimestamp", "isotime", "timeiso8601", "longdate",
		"timeunixnano", "timemillis", "timems", "tsms", "timestampms", "timestampus", "timestampns", "timestampmillis",
		"epochmillis", "epochms", "unixtime", "msec", "realtimetimestamp", "timelocal", "querytimestamp",
		"edgestarttimestamp", "stagetimestamp", "requestreceivedtimestamp", "lasttimestamp":
		return fieldTime
	case "level", "lvl", "@l", "@level", "severity", "loglevel", "levelname", "levellabel", "severitytext", "severityname", "severitylabel",
		"logseverity", "priorityname", "errorseverity":
		return fieldLevel
	case "severitynumber":
		return fieldOTel
	case "severitylevel":
		return fieldInsights
	case "starttime", "startedat", // of Envoy, of Kong
		"created", "createdat", "receivedat", "localtime", "observedtimestamp": // of Python's logging, and of what a record is about
		return fieldStart
	}
	return fieldOther
}

// field takes time, level or wrapped line from a field; value is as written, including quotes.
func (f *finding) field(kind field, name, value []byte) {
	if kind == fieldOther || len(value) == 0 {
		return
	}
	if kind == fieldTime {
		if !f.found {
			f.timeValue(name, value)
		}
		return
	}
	if kind == fieldMessage {
		if !f.found {
			f.audit(value)
		}
		return
	}
	switch kind {
	case fieldZone:
		f.minute.apart.zone(message.Unquoted(value))
		return
	case fieldSeconds:
		f.minute.apart.seconds(message.Unquoted(value))
		return
	case fieldNanos:
		if nanos, ok := nanoseconds(message.Unquoted(value)); ok {
			f.minute.apart.nano = nanos
		}
		return
	case fieldCategory:
		f.resource, f.gateway = true, isGatewayLog(message.Unquoted(value))
		return
	case fieldType:
		switch string(message.Unquoted(value)) {
		case "Normal":
			f.event = record.Info
		case "Warning", "Emergency", "Alert", "Critical", "Error", "Notice", "Informational", "Debug":
			f.event = record.LevelFromAlias(message.Unquoted(value))
		}
		return
	case fieldReason:
		f.reason = true
		return
	case fieldProperties:
		if value[0] == '{' {
			f.properties = value
		}
		return
	case fieldLoguru:
		f.loguru(value)
		return
	case fieldStatus:
		f.status, _ = parse.StatusLevel(message.Unquoted(value))
		return
	case fieldRequest:
		f.request = true
		return
	case fieldTags:
		f.tags(value)
		return
	case fieldStart:
		if m := (moment{}); f.wholeTime(&m, message.Unquoted(value)) {
			f.minute.apart.whole(&m)
		}
		return
	}
	if kind == fieldWrapped || kind == fieldNested && value[0] == '"' {
		f.wrap(value)
		return
	}
	if f.level != record.None {
		return
	}
	if kind == fieldNested {
		if value[0] == '{' {
			f.level = nestedLevel(value)
		}
		return
	}
	f.level = levelValue(kind, trimSpace(message.Unquoted(value)), f.mongo)
	f.numeric = f.numeric || kind == fieldLevel && len(value) == 1
}

// tags implies the level that is the first or the last tag, as Kibana writes it: ["error","elasticsearch"], ["listening","info"].
func (f *finding) tags(value []byte) {
	if value[0] != '[' {
		return
	}
	first, last := record.None, record.None
	all := message.Array(value)
	for n := 0; ; n++ {
		tag, ok := all.Next()
		if !ok {
			break
		}
		last = record.None
		if word := message.Unquoted(tag); isLowerLevel(word) {
			last = record.LevelFromAlias(word)
		}
		if n == 0 {
			first = last
		}
	}
	if first == record.None {
		first = last
	}
	if first != record.None {
		f.impliedLevel = first
	}
}

// statusLevel sets the level of the status of a request, as that of an access log, or of the type of an event, if there is no other.
func (f *finding) statusLevel() {
	if f.level == record.None && f.request {
		f.level = f.status
	}
	if f.level == record.None && f.reason {
		f.level = f.event
	}
}

// wrap takes the wrapped line from the value of a member that may have one; the first one counts.
func (f *finding) wrap(value []byte) {
	if f.wrapped == nil && len(value) > 2 && value[0] == '"' && value[len(value)-1] == '"' {
		f.wrapped = message.Unquoted(value)
	}
}

// timeValue takes the time from a field's value. It must only be called while no time is found.
func (f *finding) timeValue(name, value []byte) {
	if value[0] == '{' {
		f.nestedTime(value)
		return
	}
	text := trimSpace(message.Unquoted(value))
	if n := len(text); n > 2 && text[0] == '[' && text[n-1] == ']' { // of Tomcat
		text = text[1 : n-1]
	}
	ok := f.wholeTime(&f.moment, text)
	if !ok && len(text) <= maxEscaped && bytes.IndexByte(text, '\\') >= 0 {
		var space [maxEscaped]byte // some encoders escape '+' and '/'
		ok = f.wholeTime(&f.moment, message.Unescape(space[:0], text))
	}
	if !ok {
		f.minute.apart.part(text)
		return
	}
	f.timeSet()
	if string(name) == "@t" {
		f.impliedLevel = record.Info // compact log event format: no @l means information
	}
}

// apart is a time whose parts are fields of their own, as of Fortinet: date=2026-11-20 time=15:04:05 tz="+0100"; or of Google Cloud's
// libraries: "timestampSeconds":1795187045,"timestampNanos":123000000.
type apart struct {
	// days count from 1970; second, nano and east, the offset from UTC in seconds, are small.
	days, second, nano, east  int32
	hasDay, hasClock, hasZone bool
}

// part takes a date or a clock from a field's text.
func (a *apart) part(text []byte) {
	switch {
	case len(text) == len("2026-11-20") && text[4] == text[7] && (text[4] == '-' || text[4] == '/'):
		if year, month, day := four(text, 0), two(text, 5), two(text, 8); year < invalidNumber &&
			civil.Valid(int(year), int(month), int(day)) {
			a.days, a.hasDay = int32(civil.Days(int(year), int(month), int(day))), true
		}
	case len(text) >= len("15:04:05"):
		if second, nano, end := clockAt(text, 0); end == len(text) {
			a.second, a.nano, a.hasClock = int32(second), nano, true
		}
	}
}

// seconds takes date and clock from a number of seconds since 1970.
func (a *apart) seconds(text []byte) {
	if m, ok := epochNumber(text); ok {
		a.whole(&m)
	}
}

// whole takes date and clock from a time with a year.
func (a *apart) whole(m *moment) {
	if m.month == 0 && m.second >= 0 {
		a.days, a.second, a.nano = int32(m.second/civil.SecondsPerDay), int32(m.second%civil.SecondsPerDay), max(a.nano, m.nano)
		a.hasDay, a.hasClock, a.hasZone = true, true, m.utc
	}
}

// zone takes the offset from UTC.
func (a *apart) zone(text []byte) {
	var m moment
	if len(text) > 1 && (text[0] == '+' || text[0] == '-') && m.offset(text, 0) == len(text) {
		a.east, a.hasZone = int32(-m.second), true
	}
}

// timeOfParts sets the time from its parts if it was not found.
func (f *finding) timeOfParts() {
	if a := &f.minute.apart; !f.found && a.hasDay && a.hasClock {
		f.setTime(moment{second: int64(a.days)*civil.SecondsPerDay + int64(a.second-a.east), nano: a.nano, utc: a.hasZone})
	}
}

// maxEscaped is the maximum length in bytes of a time or a level with escapes.
const maxEscaped = 64

// wholeTime reads the whole of a field's text as a time, into m.
func (f *finding) wholeTime(m *moment, text []byte) (ok bool) {
	if n := f.minute.moment(m, text, true); n > 0 && n == len(text) && m.layout != layoutClock { // that may be a duration
		return true
	}
	if number, found := bytes.CutPrefix(text, []byte("/Date(")); found { // of Windows PowerShell
		text = bytes.TrimSuffix(number, []byte(")/"))
	}
	*m, ok = epochNumber(text)
	return ok
}

// nestedTime takes the time from an object of MongoDB ({"$date": …}), Log4j
// ({"epochSecond": …, "nanoOfSecond": …}) or protocol buffers.
func (f *finding) nestedTime(object []byte) {
	var seconds moment
	var nanos int32
	known := false
	m := message.Object(object)
	for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
		text := message.Unquoted(value)
		switch string(name) {
		case "$date":
			if !f.found && len(value) > 0 && value[0] != '{' {
				f.timeValue(name, value)
				f.mongo = f.found
			}
		case "seconds", "epochSecond":
			seconds, known = epochNumber(text)
		case "nanos", "nanoOfSecond":
			if nanos, ok = nanoseconds(text); !ok {
				return
			}
		}
	}
	if known && !f.found {
		seconds.nano = max(seconds.nano, nanos)
		f.setTime(seconds)
	}
}

// nanoseconds reads the nanoseconds of a second.
func nanoseconds(text []byte) (int32, bool) {
	nanos := int64(0)
	for _, c := range text {
		if nanos = nanos*10 + int64(c-'0'); c-'0' > 9 || nanos >= nanosPerSecond {
			return 0, false
		}
	}
	return int32(nanos), true
}

// nestedLevel returns the level in the object of a field "log".
func nestedLevel(object []byte) record.Level {
	m := message.Object(object)
	for name, value, ok := m.Next(); ok; name, value, ok = m.Next() {
		if fieldOf(name) == fieldLevel {
			return levelValue(fieldLevel, trimSpace(message.Unquoted(value)), false)
		}
	}
	return record.None
}

// levelValue returns the level for a field's text.
func levelValue(kind field, text []byte, mongo bool) record.Level {
	if len(text) == 0 {
		return record.None
	}
	if text[0] == '\\' && len(text) <= maxEscaped { // "\u001b[31merror\u001b[39m", as winston writes it
		var space, plain [maxEscaped]byte
		text = ansi.Strip(plain[:0], message.Unescape(space[:0], text))
	}
	if n := len(text); n > 2 && text[0]-'0' > 9 && text[n-1]-'0' <= 9 { // slog writes ERROR+2
		word := wordEnd(text, 0)
		if word < n && (text[word] == '+' || text[word] == '-') && digitsEnd(text, word+1) == n {
			text = text[:word]
		}
	}
	if len(text) == 0 {
		return record.None
	}
	if text[0]-'0' > 9 {
		switch {
		case kind == fieldSeverity && !mongo || kind == fieldOTel || kind == fieldPython:
			return record.None
		case len(text) == 1 || kind == fieldSeverity:
			return letterLevel(text[0])
		}
		return record.LevelFromAlias(text)
	}
	if len(text) > 2 {
		return record.None
	}
	n := number(text)
	switch {
	case n >= invalidNumber:
		return record.None
	case kind == fieldSyslog:
		return record.LevelFromSyslog(int(n))
	case kind == fieldOTel:
		return record.LevelFromOTel(int(n))
	case kind == fieldInsights && n < 5:
		return [...]record.Level{record.Trace, record.Info, record.Warn, record.Error, record.Fatal}[n]
	case kind == fieldPython && n >= 10 && n < 60:
		return record.Debug + record.Level(n/10-1)
	case kind == fieldLevel && n >= 10 && n < 70 && n%5 == 0: // 17 is of OpenTelemetry
		return record.Trace + record.Level(n/10-1)
	}
	return record.None
}

// audit takes the time out of the Linux audit daemon's msg=audit(1364481363.243:24287):
func (f *finding) audit(value []byte) {
	const head = "audit("
	if len(value) > len(head) && string(value[:len(head)]) == head {
		if m, n := epochText(value[len(head):]); n > 0 {
			f.setTime(m)
		}
	}
}
