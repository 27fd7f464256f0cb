package recognize

import (
	"bytes"
	"unicode/utf8"

	"logstow/record"
)

// The limits of the search: a line without a time must not cost much.
const (
	// maxColumns is how many columns are examined before a time, and how many after it.
	maxColumns = 6
	// maxColumn is the maximum length of a column in bytes.
	maxColumn = 128
)

// finding is the result for a line.
type finding struct {
	moment
	minute *minute
	shape  *shape
	found  bool
	level  record.Level
	// impliedLevel is the level that a format implies if it has none.
	impliedLevel record.Level
	// mongo is set if the time was found in MongoDB's form, numeric if a level of one digit was found.
	mongo, numeric bool
	// resource is set for a resource log of Azure, whose properties may have the level, gateway for a request of a gateway, whose
	// properties have its status.
	resource, gateway bool
	properties        []byte
	// reason is set if a field has the reason of an event of Kubernetes or the rule of one of Falco, event is the level of its type or
	// priority.
	reason bool
	event  record.Level
	// request is set if a field belongs to a request, status is the level of its status.
	request bool
	status  record.Level
	// stream is the end of the stream of a line of Cloud Foundry, behind which a line of its own stands.
	stream int
	// inner is set for the text behind a header of syslog.
	inner bool
	// wrapped is the text of a member that may be a line of its own, still escaped; nil if there is
	// none.
	wrapped []byte
}

// setTime sets the time.
func (f *finding) setTime(m moment) {
	f.moment = m
	f.timeSet()
}

// timeSet records that f.moment is the time. It is for parsers that write f.moment directly: copying a moment
// takes longer than parsing most of them.
func (f *finding) timeSet() {
	f.found = true
	if f.level == record.None {
		f.level = f.moment.level
	}
}

// line reads a whole line.
func (f *finding) line(b []byte) {
	if len(b) > 0 && b[0] == '{' {
		f.object(b)
		return
	}
	i := 0
	if i < len(b) && b[i] == '<' {
		if i = f.priority(b, i); isWindowsEvent(b[i:]) {
			f.windowsEvent(b[i:])
			return
		}
		if is, _ := IsClientLog(b[i:]); is {
			f.clientLog(b[i:])
			return
		}
	}
	if len(b) > 2 && b[1] == '/' {
		f.logcatBrief(b)
	}
	if i < len(b) && mayBeTitle(b[i]) {
		i += titleEnd(b[i:])
	}
	f.columns(b, i)
	if !f.found && len(b) >= minUnusual && mayBeUnusual(b[0]) {
		f.unusual(b)
	}
	f.spellings(b)
}

// mayBeTitle reports whether what titleEnd knows begins with a byte.
func mayBeTitle(c byte) bool { return c == '#' || c == '=' || c-'A' < 26 }

// titleEnd returns the length of the words with which some programs introduce a time.
func titleEnd(b []byte) int {
	if end := componentEnd(b); end > 0 {
		return end
	}
	switch b[0] {
	case '#':
		if bytes.HasPrefix(b, []byte("####<")) { // WebLogic
			return len("####")
		}
		return titleOf(b, "# Time: ") // MySQL's slow log
	case '=': // =ERROR REPORT==== 20-Nov-2026::15:04:05 === of Erlang
		const report = " REPORT==== "
		if i := bytes.Index(b[:min(len(b), maxColumn)], []byte(report)); i > 0 {
			return i + len(report)
		}
	case 'S':
		return titleOf(b, "Start-Date: ") // apt
	case 'L':
		if len(b) > 2 && b[1] == ' ' && b[2]-'0' <= 9 { // L 11/20/2026 - 15:04:05: of Valve's game servers
			return 2
		}
		return titleOf(b, "Log started: ") + titleOf(b, "Log ended: ") + nodeEnd(b)
	case 'R':
		return nodeEnd(b)
	case 'A':
		return titleOf(b, "AI: ") // Application Insights' old agent for Java
	}
	return 0
}

// componentEnd returns the offset of the date behind the letter of a component of SAP: M Fri Nov 20 15:04:05 2026.
func componentEnd(b []byte) int {
	if len(b) < len("M Fri Nov 20 15:04:05 2026") || b[1] != ' ' {
		return 0
	}
	i := 2
	if b[i] == ' ' {
		i++
	}
	if !isWeekday(b[i:]) || b[i+3] != ' ' {
		return 0
	}
	return i
}

// nodeEnd returns the length of the name of a node of Cisco's IOS XR: RP/0/RSP0/CPU0:Nov 20 15:04:05.123 : ifmgr[7].
func nodeEnd(b []byte) int {
	const maxNode, cpu = 32, "/CPU0:"
	if i := bytes.Index(b[:min(len(b), maxNode)], []byte(cpu)); i > 0 && b[2] == '/' {
		return i + len(cpu)
	}
	return 0
}

func titleOf(b []byte, title string) int {
	if len(b) > len(title) && string(b[:len(title)]) == title {
		return len(title)
	}
	return 0
}

// priority reads a syslog priority and an optional version of RFC 5424 at b[i]. It returns
// the end, or i if there is no priority.
func (f *finding) priority(b []byte, i int) int {
	n, k := 0, i+1
	for ; k < len(b) && k < i+4 && b[k]-'0' <= 9; k++ {
		n = n*10 + int(b[k]-'0')
	}
	const maxPriority = 191
	if k == i+1 || k >= len(b) || b[k] != '>' || n > maxPriority {
		return i
	}
	f.level = record.LevelFromSyslog(n & 7)
	k++
	if len(b) > k+1 && b[k] == '1' && b[k+1] == ' ' {
		k += 2
	}
	return k
}

// columns reads a line column by column from b[i] on: up to the time, and then up to the level or the
// first word that is not a column.
func (f *finding) columns(b []byte, i int) {
	bare := true // only brackets and level words so far
	fence := byte(0)
	for n := 0; n < maxColumns; n++ {
		i, fence = skipSeparators(b, i)
		if i >= len(b) {
			return
		}
		if !f.found {
			if end := f.timeAt(b, i, bare); end > 0 {
				if f.level == record.None {
					f.level = redisLevel(b, i, end)
				}
				if f.level != record.None {
					return
				}
				i, n = end, -1
				continue
			}
		}
		switch b[i] {
		case '{':
			end := bracesEnd(b, i)
			if end < 0 {
				f.object(b[i:])
				return
			}
			if f.level == record.None {
				f.level = groupWord(b[i+1 : end-1]) // {ERROR}
			}
			i = end
		case '"', '\'':
			end := quotedEnd(b, i)
			if end == 0 {
				return
			}
			if end > i+1 && f.level == record.None {
				f.level = groupWord(b[i+1 : end-1])
			}
			i, bare = end, false
		case '[', '(', '<':
			end := groupEnd(b, i)
			if end < 0 {
				return
			}
			if f.level == record.None {
				f.level = levelInGroup(b[i+1 : end-1])
				if b[i] == '<' && f.layout == layoutClock && n == 1 {
					f.level = netBackupLevel(b[i+1 : end-1])
				} else if end == i+3 && f.letterMayStand(b, i, n) {
					f.level = oneLetter(b[i+1])
				}
				if f.level == record.None && b[i+1] == 'S' && bytes.HasPrefix(b[end:], []byte(" [MY-")) && string(b[i:end]) == "[System]" { // MySQL
					f.level = record.Info
				}
			}
			i = end
		default:
			if b[i] == '-' && fence == '|' && f.found && n == 0 { // Logback's status: |-INFO in ch.qos.logback
				i++
			}
			t := scanToken(b, i)
			if f.found && t.upper && f.level == record.None {
				if isStream(b, t.start, t.word) {
					f.stream = t.word
					return
				}
				if t.word < len(b) && b[t.word] == '_' && string(b[t.start:t.word]) == "LOG" { // LOG_ERR of blobfuse2
					f.level = groupWord(b[t.word+1 : wordEnd(b, t.word+1)])
				}
			}
			if f.found && n == 0 && f.level == record.None && b[i] == '*' && t.end > i+2 && b[t.end-1] == '*' { // Sling's *ERROR*
				f.level = groupWord(b[i+1 : t.end-1])
			}
			if f.found && n == 0 && t.word < len(b) && b[t.word]-'0' <= 9 && f.level == record.None && t.upper {
				f.level = codedLevel(b, &t)
			}
			if level, end := f.levelAt(b, &t, n, fence); level != record.None {
				if f.level == record.None {
					f.level = level
				}
				i = end
				break
			}
			if f.found && n == 0 && f.level == record.None && (t.upper || t.word < len(b) && b[t.word] >= utf8.RuneSelf) {
				if f.level, _ = localLevelAt(b, i); f.level != record.None {
					return
				}
			}
			if b[i] == '#' && (f.found || n == 0) && f.level == record.None {
				f.level = commandLevel(b[i:])
			}
			if f.found && n <= 1 && f.level == record.None && t.word < len(b) && b[t.word] == ',' && b[t.start]-'a' < 26 {
				f.level = topicsLevel(b[t.start:])
			}
			if t.kind == tokenPair {
				if f.found && n == 0 && f.nano == 0 {
					f.nano = microseconds(b[i:])
				}
				i += f.pairs(b[i:])
				n = max(n, 1)
				break
			}
			if t.kind == tokenMixed && b[t.end-1] == ':' && f.level == record.None && (f.found || n == 0) {
				f.level = joinedLevel(b[t.start:t.end])
			}
			if t.kind == tokenMixed && b[t.word] == '.' && t.word > t.start && f.found && n <= 1 && f.level == record.None {
				f.level = facilityLevel(b[t.start:t.end])
			}
			if !f.isColumn(b, &t, n, fence) {
				return
			}
			i, bare = t.end, false
		}
		if f.found && f.level != record.None {
			return
		}
	}
}

// timeAt reads a time at b[i], or after one opening byte there, and returns its end, or 0.
func (f *finding) timeAt(b []byte, i int, bare bool) int {
	if b[i]-'0' > 9 {
		switch b[i] {
		case '.': // of Cisco, as '*': the clock is not synchronized
			if i++; i == len(b) || b[i]-'A' >= 26 {
				return 0
			}
		case '[', '(', '"', '\'', '*', '<':
			if i++; i < len(b) && b[i] == ' ' {
				i++
			}
			// Tornado writes [I 201120 15:04:05 web:2063], others [ERROR 2026-11-20 15:04:05] or [ERROR|2026-11-20 15:04:05].
			if end := wordEnd(b, i); end > i && end+1 < len(b) && (b[end] == ' ' || b[end] == '|') {
				if level := wordLevel(b[i:end]); level != record.None {
					start, _ := skipSeparators(b, end)
					if m, n := parseMoment(b[start:], bare, f.minute.known); n > 0 {
						m.level = level
						f.setTime(m)
						return start + n
					}
				}
			}
		}
	}
	n := f.minute.moment(&f.moment, b[i:], bare)
	if n == 0 {
		return 0
	}
	f.timeSet()
	return i + n
}

// timeFollows reports whether a time, perhaps in brackets, stands behind the separators at b[i], as behind Mattermost's and CUPS' levels,
// error [2026-11-20 15:04:05.123 +01:00] and E [20/Nov/2026:15:04:05 +0100].
func (f *finding) timeFollows(b []byte, i int) bool {
	start := timeStart(b, i)
	if start < 0 {
		return false
	}
	_, n := parseMoment(b[start:], false, f.minute.known)
	return n > 0
}

// timeStart returns where such a time begins if one may stand there, otherwise -1.
func timeStart(b []byte, i int) int {
	i, _ = skipSeparators(b, i)
	if i < len(b) && b[i] == '[' {
		i++
	}
	if i >= len(b) || b[i]-'0' > 9 && b[i]-'A' >= 26 {
		return -1
	}
	return i
}

// isColumn reports whether the token t is a column and not the start of the message. t is the n-th
// token before or after the time, and follows the separator fence.
func (f *finding) isColumn(b []byte, t *token, n int, fence byte) bool {
	switch t.kind {
	case tokenMixed:
		// Name: is a label; app[12]: and 12: are columns, and behind a priority the name of Cisco's device.
		return f.found || b[t.end-1] != ':' || hasDigit(b[t.start:t.end]) || f.level != record.None && n <= 1 && b[0] == '<' ||
			n == 0 && f.timeAndLevelAt(b, t.end+1) // nginx: 2026/11/20 15:04:05 [error]
	case tokenWord:
	default:
		return false
	}
	// A plain word is a column only if the layout allows it.
	behind, next := skipSeparators(b, t.end)
	switch {
	case next == '|' && (fence == '|' || !f.found && n == 0):
		return true // docker compose: web | …
	case next == '\t' && !f.found && n == 0:
		return true // Bamboo's build TAB 20-Nov-2026 15:04:05 TAB …
	case next != 0 && next == fence && (next != ',' || b[t.end] == ',' && b[t.start-1] == ','):
		return true // … - name - INFO - …, …,name,INFO,…
	case f.found && n <= 1 && paddedLevelFollows(b, t.end):
		return true // Python's %(name)-12s %(levelname)-8s
	case f.found && n == 1 && b[behind-1] == ' ' && bracketedLevelAt(b, behind):
		return true // Fly.io's app[6e1b] fra [info]
	case !f.found && n == 0 && f.timeAndLevelAt(b, behind):
		return true // Jitsi's JVB 2026-11-20 15:04:05.123 INFO:
	}
	word := string(b[t.start:t.end])
	if f.found {
		return word == "main" || // the usual thread
			n == 0 && (f.layout == layoutSyslog || f.layout == layoutISO && tagFollows(b, t.end)) // the host
	}
	switch word {
	case "localhost", "debug", "http", "https", "h2", "ws", "wss", "grpcs", "tls": // "debug" begins Ceph's lines, the others those of load balancers
		return true
	case "runtime": // shop.c:7:10: runtime error: of UndefinedBehaviorSanitizer
		return n > 0 && bytes.HasPrefix(b[t.end:], []byte(" error: "))
	case "fatal": // main.c:1:10: fatal error: of compilers
		return n > 0 && hasDigit(b[:t.start]) && bytes.HasPrefix(b[t.end:], []byte(" error: "))
	}
	if n > 0 && len(b) > t.end+1 && b[t.end] == ' ' && b[t.end+1] == '[' {
		// The user's name in an access log.
		m, k := parseMoment(b[t.end+2:], false, hints{})
		return k > 0 && m.layout == layoutAccess
	}
	return false
}

// paddedLevelFollows reports whether behind the word that ends at b[i] a level in upper case, or like "Error:", stands in a column of its
// own, as two blanks before or behind it show.
func paddedLevelFollows(b []byte, i int) bool {
	if i+1 >= len(b) || b[i+1] != ' ' && b[i+1]-'A' >= 26 {
		return false
	}
	start, _ := skipSeparators(b, i)
	end := wordEnd(b, start)
	if end == start || b[start]-'A' >= 26 || b[end-1]-'A' >= 26 && (end == len(b) || b[end] != ':') ||
		record.LevelFromAlias(b[start:end]) == record.None {
		return false
	}
	return isPadded(b, start) || end+1 < len(b) && b[end] == ' ' && (b[end+1] == ' ' || b[end+1] == '[')
}

// bracketedLevelAt reports whether a level in lower case in brackets stands at b[i].
func bracketedLevelAt(b []byte, i int) bool {
	if i >= len(b) || b[i] != '[' {
		return false
	}
	end := wordEnd(b, i+1)
	return end < len(b) && b[end] == ']' && isLowerLevel(b[i+1:end])
}

// timeAndLevelAt reports whether at b[i] a time stands that begins with the year, and behind it a level in brackets, or in capitals and
// before a colon.
func (f *finding) timeAndLevelAt(b []byte, i int) bool {
	if i+len("2026-11-20 15:04:05 INFO:") > len(b) || b[i]-'1' > 1 || b[i+4] != '-' && b[i+4] != '/' {
		return false
	}
	_, n := parseMoment(b[i:], false, f.minute.known)
	if i += n; n == 0 || i+1 >= len(b) || b[i] != ' ' {
		return false
	}
	if bracketedLevelAt(b, i+1) {
		return true
	}
	end := wordEnd(b, i+1)
	return end < len(b) && b[end] == ':' && b[i+1]-'A' < 26 && b[end-1]-'A' < 26 && record.LevelFromAlias(b[i+1:end]) != record.None
}

// quotedEnd returns the end of a quoted column at b[i], which has no blanks, or of a quote that closes one; 0 if there is none.
func quotedEnd(b []byte, i int) int {
	if i > 0 && b[i-1] != ' ' && b[i-1] != ',' && b[i-1] != ';' && b[i-1] != '\t' { // behind a time
		return i + 1
	}
	if len(b) > i+5 && b[i+1]-'A' < 26 && b[i+3]-'A' < 26 && (b[i+4] == ' ' || b[i+4]-'A' < 26 && b[i+5] == ' ') { // "GET /
		return 0
	}
	text := b[i+1 : min(len(b), i+maxColumn)]
	for k, c := range text {
		if c == ' ' || c == '\t' {
			return 0
		}
		if c == b[i] {
			if k == 0 || !ends(b, i+k+2) {
				return 0
			}
			return i + k + 2
		}
	}
	return 0
}
