package recognize

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"logstow/record"
	"logstow/record/internal/civil"
)

// withoutTime finds the level in a line of a program that writes no time.
func (f *finding) withoutTime(line []byte) {
	switch line[0] {
	case 'P', 'F', 'R', 'C', 'D', 'N', 'S':
		f.php(line)
	case 'n':
		f.npm(line)
	case ':':
		f.workflow(line)
	case 'O':
		if code, found := bytes.CutPrefix(line, []byte("ORA-")); found && len(code) > 5 && digitsEnd(code, 0) == 5 && code[5] == ':' { // Oracle
			f.level = record.Error
		}
	case 'm':
		if bytes.HasPrefix(line, []byte("make")) && bytes.Contains(line[:min(len(line), 16)], []byte(": *** ")) {
			f.level = record.Error
		}
	case 'e', 'w':
		if bytes.HasPrefix(line[1:], []byte(": file:///")) { // of Kotlin's compiler
			f.level = letterLevel(line[0] &^ 0x20)
		}
	}
	if f.level == record.None && (line[0] >= utf8.RuneSelf || line[0]-'A' < 26) && IsJavaLevel(line) {
		f.level, _ = localLevelAt(line, 0)
	}
	if f.level == record.None && bytes.IndexByte(line[:min(len(line), maxColumn)], '[') > 0 {
		f.nccl(line)
	}
	if f.level == record.None {
		f.level = programLevel(line)
	}
	if f.level == record.None {
		f.level = toolLevel(line)
	}
}

// programLevel returns the level behind the name of a program at the start of a line, as GNU's coding standards have it, ld: error: text,
// or in capitals, wandb: ERROR text.
func programLevel(line []byte) record.Level {
	name, rest, _ := bytes.Cut(line[:min(len(line), maxColumn)], []byte(": "))
	name = bytes.TrimSuffix(name, []byte(" ")) // MSBUILD : error MSB1009: text
	end := wordEnd(rest, 0)
	if len(name) == 0 || end == 0 || end == len(rest) || name[0]|0x20-'a' >= 26 ||
		rest[end] != ':' && (rest[end] != ' ' || rest[1]-'A' >= 26 && !codeAt(rest, end+1)) {
		return record.None
	}
	for _, c := range name {
		if c|0x20-'a' >= 26 && c-'0' > 9 && bytes.IndexByte([]byte("-_.+/[]"), c) < 0 {
			return record.None
		}
	}
	return groupWord(rest[:end])
}

// logcatBrief takes the level from the letter in Android's log in its brief style: W/ActivityManager(  585): slow.
func (f *finding) logcatBrief(b []byte) {
	switch b[0] {
	case 'V', 'D', 'I', 'W', 'E', 'F':
	default:
		return
	}
	head := b[2:min(len(b), maxColumn)]
	open := bytes.IndexByte(head, '(')
	if open <= 0 {
		return
	}
	process := bytes.TrimLeft(head[open+1:], " ")
	if end := digitsEnd(process, 0); end > 0 && bytes.HasPrefix(process[end:], []byte("): ")) {
		f.level = letterLevel(b[0])
	}
}

// workflow takes the level from a command of GitHub's workflows: ::error file=app.js,line=1::text.
func (f *finding) workflow(line []byte) {
	rest, found := bytes.CutPrefix(line, []byte("::"))
	if !found {
		return
	}
	end := wordEnd(rest, 0)
	if end < len(rest) && (rest[end] == ' ' || rest[end] == ':') && bytes.Contains(rest[end:], []byte("::")) && isLowerLevel(rest[:end]) {
		f.level = record.LevelFromAlias(rest[:end])
	}
}

// nccl takes the level from the word behind a device of NVIDIA's library: node-1:4242:4711 [0] NCCL WARN text.
func (f *finding) nccl(line []byte) {
	_, rest, found := bytes.Cut(line[:min(len(line), maxColumn)], []byte("] NCCL "))
	if found {
		f.level = groupWord(rest[:wordEnd(rest, 0)])
	}
}

// codedLevel returns the level of a code behind the time: of IBM's messages, whose last letter is the severity, AMQ9209E:, and the
// number of stunnel, LOG5[7]:.
func codedLevel(b []byte, t *token) record.Level {
	end := digitsEnd(b, t.word)
	switch letters, digits := t.word-t.start, end-t.word; {
	case end+1 >= len(b):
	case string(b[t.start:t.word]) == "LOG" && digits == 1 && b[end] == '[' && b[t.word] < '8':
		return record.LevelFromSyslog(int(b[t.word] - '0'))
	case letters >= 3 && letters <= 5 && digits >= 4 && digits <= 5 && b[end+1] == ':':
		switch b[end] {
		case 'I', 'W', 'E':
			return letterLevel(b[end])
		case 'S':
			return record.Error
		}
	}
	return record.None
}

// npm takes the level from the second word: npm ERR! code E404, npm warn deprecated.
func (f *finding) npm(line []byte) {
	rest, found := bytes.CutPrefix(line, []byte("npm "))
	if !found {
		return
	}
	switch word := string(rest[:wordEnd(rest, 0)]); word {
	case "ERR", "error":
		f.level = record.Error
	case "WARN", "warn":
		f.level = record.Warn
	case "notice", "info", "http":
		f.level = record.Info
	}
}

// puppet takes the level from the brackets behind the program: Fri Nov 20 15:04:05 +0000 2026 Puppet (err): text.
func (f *finding) puppet(line []byte) {
	const program, start = " Puppet (", len("Fri Nov 20 15:04:05 2026")
	line = line[:min(len(line), maxColumn)]
	i := bytes.Index(line, []byte(program))
	if i < start {
		return
	}
	i += len(program)
	if end := wordEnd(line, i); end < len(line) && line[end] == ')' {
		f.level = groupWord(line[i:end])
	}
}

// behindTime finds the level in lines that begin with a time like 2026-11-20 15:04:05.123 and a zone.
func (f *finding) behindTime(line []byte) {
	const time = len("2026-11-20 15:04:05.123")
	rest := line[time:min(len(line), maxColumn)]
	switch line[time] {
	case ' ':
		if f.postgresColumn(line); f.level == record.None && bytes.Contains(rest, []byte("] LOG ")) { // PgBouncer
			f.level = record.Info
		}
	case 'Z':
		f.sidekiq(rest)
	case '+', '-':
		f.ceph(rest)
	default:
		f.heroku(rest)
	}
}

// sidekiq takes the level from the word before the message of Sidekiq: 4711 TID-oxo2k HardWorker JID-b4a57 INFO: start.
func (f *finding) sidekiq(rest []byte) {
	const thread = " TID-"
	i := bytes.Index(rest, []byte(thread))
	if i < 0 {
		return
	}
	if end := bytes.Index(rest[i:], []byte(": ")); end > 0 {
		start := bytes.LastIndexByte(rest[:i+end], ' ') + 1
		f.level = groupWord(rest[start : i+end])
	}
}

// ceph takes an error from the level -1 behind zone and thread: +0000 7f1c2b3d4700 -1 osd.0.
func (f *finding) ceph(rest []byte) {
	const thread = len("+0000 7f1c2b3d4700")
	if len(rest) > thread+4 && string(rest[thread:thread+4]) == " -1 " {
		f.level = record.Error
	}
}

// heroku takes the level from the field "at" of Heroku's router: heroku[router]: at=error code=H12.
func (f *finding) heroku(rest []byte) {
	const router = " heroku[router]: at="
	if i := bytes.Index(rest, []byte(router)); i >= 0 {
		i += len(router)
		f.level = groupWord(rest[i:wordEnd(rest, i)])
	}
}

// cisco takes the level from the severity of a message of Cisco's systems, %LINK-3-UPDOWN: text, or of Huawei's:
// %%01IFNET/4/LINK_STATE(l)[7]:text.
func (f *finding) cisco(head []byte) {
	for f.level == record.None {
		var found bool
		if _, head, found = bytes.Cut(head, []byte("%")); !found {
			return
		}
		if len(head) > 0 && head[0] == '%' {
			_, severity, _ := bytes.Cut(head, []byte("/"))
			f.level = severityBefore(severity, '/')
			return
		}
		code, _, colon := bytes.Cut(head, []byte(": "))
		for dashed := colon; dashed && f.level == record.None; {
			var part []byte
			if part, code, dashed = bytes.Cut(code, []byte("-")); !isFacility(part) {
				break
			}
			f.level = severityBefore(code, '-')
		}
	}
}

// isFacility reports whether a text is a part of the name of a facility of Cisco.
func isFacility(text []byte) bool {
	for _, c := range bytes.TrimRight(text, "_0123456789") {
		if c-'A' >= 26 && c != '_' && c-'0' > 9 {
			return false
		}
	}
	return len(text) > 1 && text[0]-'A' < 26
}

// severityBefore returns the level for a severity of syslog at the start of a text and before end and another byte.
func severityBefore(text []byte, end byte) record.Level {
	if len(text) < len("3-X") || text[0]-'0' > 7 || text[1] != end {
		return record.None
	}
	return record.LevelFromSyslog(int(text[0] - '0'))
}

// cefVersion begins a message of ArcSight's Common Event Format, which may follow a header of syslog.
const cefVersion = "CEF:0|"

// cef takes the level from the severity, the seventh column: a number from 0 to 10, or a word.
func (f *finding) cef(line []byte) {
	const columns = 6
	rest := line[bytes.Index(line, []byte(cefVersion)):]
	for range columns {
		i := 0
		for i < len(rest) && (rest[i] != '|' || i > 0 && rest[i-1] == '\\') {
			i++
		}
		if i == len(rest) {
			return
		}
		rest = rest[i+1:]
	}
	severity, _, _ := bytes.Cut(rest[:min(len(rest), len("Very-High|"))], []byte("|"))
	switch string(severity) {
	case "0", "1", "2", "3", "Low", "Unknown":
		f.level = record.Info
	case "4", "5", "6", "Medium":
		f.level = record.Warn
	case "7", "8", "High":
		f.level = record.Error
	case "9", "10", "Very-High":
		f.level = record.Fatal
	}
}

// isWindowsEvent reports whether a line begins an event of Windows in XML.
func isWindowsEvent(line []byte) bool { return bytes.HasPrefix(line, []byte("<Event ")) }

// windowsEvent takes time and level from such an event: <Level>2</Level> … <TimeCreated SystemTime='2026-11-20T15:04:05.1234567Z'/>.
func (f *finding) windowsEvent(line []byte) {
	if _, rest, found := bytes.Cut(line, []byte("<TimeCreated SystemTime=")); found && len(rest) > 0 {
		if n := f.minute.moment(&f.moment, rest[1:], true); n > 0 {
			f.timeSet()
		}
	}
	_, rest, _ := bytes.Cut(line, []byte("<Level>"))
	if len(rest) < 2 || rest[1] != '<' {
		return
	}
	switch rest[0] {
	case '0', '4': // audits have 0
		f.level = record.Info
	case '1':
		f.level = record.Fatal
	case '2':
		f.level = record.Error
	case '3':
		f.level = record.Warn
	case '5':
		f.level = record.Trace
	}
}

// IsClientLog reports whether a line begins a record of Configuration Manager's and Intune's clients, and ended whether the record
// ends in it.
func IsClientLog(line []byte) (is, ended bool) {
	return bytes.HasPrefix(line, []byte("<![LOG[")), bytes.Contains(line, []byte(clientTail))
}

// clientTail is between the text of such a record and its columns.
const clientTail = "]LOG]!>"

// clientLog takes time and level from such a record: <![LOG[text]LOG]!><time="16:04:05.123-060" date="11-20-2026" component="x" type="3">.
// The number behind the time is that of minutes from it to UTC.
func (f *finding) clientLog(line []byte) {
	_, tail, _ := bytes.Cut(line, []byte(clientTail))
	switch string(attribute(tail, "type")) {
	case "1":
		f.level = record.Info
	case "2":
		f.level = record.Warn
	case "3":
		f.level = record.Error
	}
	at, date := attribute(tail, "time"), attribute(tail, "date")
	second, nano, end := clockAt(at, 0)
	if end == 0 {
		return
	}
	const places = len("11-20-2026")
	if len(date) != places || date[2] != '-' || date[5] != '-' {
		return
	}
	year, month, day := four(date, 6), two(date, 0), two(date, 3)
	if year >= invalidNumber || !civil.Valid(int(year), int(month), int(day)) {
		return
	}
	m := moment{second: civil.Days(int(year), int(month), int(day))*civil.SecondsPerDay + second, nano: nano}
	if bias, err := strconv.Atoi(string(at[end:])); err == nil {
		m.second, m.utc = m.second+int64(bias)*60, true
	}
	f.setTime(m)
}

// attribute returns the value of an attribute of XML, empty if there is none.
func attribute(element []byte, name string) []byte {
	_, value, _ := bytes.Cut(element, []byte(name+`="`))
	value, _, _ = bytes.Cut(value, []byte(`"`))
	return value
}

// sharePoint takes the level from the seventh column of a trace of SharePoint, which are separated by TABs and padded with blanks.
func (f *finding) sharePoint(line []byte) {
	const before = 6
	rest := line
	for range before {
		_, column, found := bytes.Cut(rest, []byte{'\t'})
		if !found {
			return
		}
		rest = column
	}
	column, _, _ := bytes.Cut(rest, []byte{'\t'})
	switch string(trimSpace(column)) {
	case "Critical":
		f.level = record.Fatal
	case "Unexpected", "Assert":
		f.level = record.Error
	case "Monitorable", "High", "Warning":
		f.level = record.Warn
	case "Medium", "Information":
		f.level = record.Info
	case "Verbose", "VerboseEx":
		f.level = record.Debug
	}
}
