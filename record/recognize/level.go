package recognize

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"logstow/record"
)

// levelAt returns the level that the token t is or begins with, and its end. It returns None
// if t is not a level, or is not set off from prose. t is the n-th token before or after the
// time, and follows the separator fence.
func (f *finding) levelAt(b []byte, t *token, n int, fence byte) (record.Level, int) {
	if !f.found && n == 0 && t.word > t.start && timeStart(b, t.word) > t.word {
		level := wordLevel(b[t.start:t.word])
		if t.word == t.start+1 {
			level = cupsLevel(b, t.start)
		}
		if level != record.None && f.timeFollows(b, t.word) &&
			(b[t.word] != ' ' || b[t.word+1]-'0' > 9 || string(b[t.start:t.word]) != "debug") { // Ceph's lines begin with debug
			return level, t.word
		}
	}
	switch t.word - t.start {
	case 0:
		return record.None, 0
	case 1:
		return f.levelLetter(b, t.start, n), t.word
	case len("Db"): // of macOS
		if f.layout == layoutISO && n == 0 && string(b[t.start:min(len(b), t.word+1)]) == "Db " && isProcess(column(b[t.word+1:])) {
			return record.Debug, t.word
		}
	}
	next := byte(' ')
	if t.word < len(b) {
		next = b[t.word]
	}
	ok, nouns := t.upper, false // with nouns set, aliases that are also common words count
	switch next {
	case ' ', ',', ';', '\r', '\x1b':
		// A column after brackets: App Service writes PID[1234] Error       message, others [main] info  message,
		// Veeam <01> Error    message, Falco 15:04:05.123456789: Notice message.
		padded := next == ' ' && t.start > 1 && (b[t.start-2] == ']' || b[t.start-2] == '>') && t.word+1 < len(b) && b[t.word+1] == ' '
		falco := next == ' ' && n == 0 && f.layout == layoutClock && t.start > 2 && b[t.start-2] == ':' && isCapitalized(b, t)
		if padded || falco || fenced(b, t.word, fence) || !f.found && codeAt(b, t.word+1) {
			ok, nouns = true, next == ' '
		} else if !ok && next == ' ' && f.found {
			ok, nouns = isSetOff(b, t, n)
		} else if !ok && next == ' ' && t.word+2 < len(b) && b[t.word+1] == ':' && b[t.word+2] == ' ' { // MSBuild's error : text
			ok = !isIndented(b, t.start)
		}
	case '\t', '|':
		ok, nouns = t.upper || fence == next || n == 0 && isLowerLevel(b[t.start:t.word]), true
	case ':':
		ok, nouns = t.upper || f.found || !isIndented(b, t.start), t.upper // of YAML and the like: "  error: none"
	case '>': // of Log4perl
		ok = ok && t.word+1 < len(b) && b[t.word+1] == ' '
	case '(':
		if level := f.numberedLevel(b, t, n); level != record.None {
			return level, t.word
		}
		ok = false
	case ']', '"', '\'', '}':
		ok, nouns = true, true // [2026-11-20 15:04:05 error], "error"
	case '+', '-':
		ok = ok && t.word+1 < len(b) && ends(b, digitsEnd(b, t.word+1)) // slog writes ERROR+2
	case '/': // INFO/MainProcess, Icinga's critical/ApiListener:
		ok = ok || f.found && n == 0 && b[t.end-1] == ':'
	case '[': // logrus' INFO[0000], rustc's error[E0308]:
		if !ok && n == 0 && !f.found {
			end := codeEnd(b, t.word+1)
			ok = end+1 < len(b) && b[end] == ']' && b[end+1] == ':'
		}
	default:
		ok = false
	}
	if !ok {
		return record.None, 0
	}
	word := b[t.start:t.word]
	level := record.LevelFromAlias(word)
	if level == record.None && next == ':' && t.upper && f.found && n == 0 {
		level = alarmLevel(word)
	}
	nouns = nouns || t.upper && isPadded(b, t.start)
	if level == record.None || !nouns && isNoun(word) && string(word) != "fail" {
		return record.None, 0
	}
	if next == '+' || next == '-' {
		return level, digitsEnd(b, t.word+1)
	}
	return level, t.word
}

// wordLevel returns the level for a word or a letter beside a time.
func wordLevel(word []byte) record.Level {
	if len(word) == 1 {
		return letterLevel(word[0])
	}
	level := record.LevelFromAlias(word)
	if level != record.None && word[len(word)-1] >= 'a' && isNoun(word) {
		return record.None
	}
	return level
}

// cupsLevel returns the level for the letter of CUPS at b[i] before a time in brackets.
func cupsLevel(b []byte, i int) record.Level {
	switch c := b[i]; {
	case len(b) < i+3 || b[i+1] != ' ' || b[i+2] != '[':
		return oneLetter(c)
	case c == 'X':
		return record.Fatal
	case c == 'd':
		return record.Debug
	default:
		return letterLevel(c)
	}
}

// facilityLevel returns the severity behind a facility of syslog: daemon.err.
func facilityLevel(column []byte) record.Level {
	facility, severity, found := bytes.Cut(column[:min(len(column), len("authpriv.warning"))], []byte("."))
	if !found {
		return record.None
	}
	switch string(facility) {
	case "kern", "user", "mail", "daemon", "auth", "authpriv", "syslog", "cron", "ftp", "lpr", "news", "uucp",
		"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7":
		return record.LevelFromAlias(severity)
	}
	return record.None
}

// commandLevel returns the level of a command in the log of a build: ##[error]text, ##vso[task.logissue type=error;]text.
func commandLevel(b []byte) record.Level {
	const start, issue = "##[", "##vso[task.logissue "
	if rest, found := bytes.CutPrefix(b, []byte(issue)); found {
		_, kind, _ := bytes.Cut(rest[:min(len(rest), maxColumn)], []byte("type="))
		return groupWord(kind[:wordEnd(kind, 0)])
	}
	end := wordEnd(b, min(len(start), len(b)))
	if end == len(b) || b[end] != ']' || string(b[:len(start)]) != start {
		return record.None
	}
	return groupWord(b[len(start):end])
}

// letterMayStand reports whether a letter in the brackets at b[i], the n-th column, may be a level: behind a time, as Gitea's [W];
// before one, as qBittorrent's (W) 2026 and Mumble's <W>2026; or behind a clock, as ESPHome's [15:04:05][W].
func (f *finding) letterMayStand(b []byte, i, n int) bool {
	switch {
	case f.found:
		return true
	case n == 0:
		return f.timeFollows(b, i+3)
	case n == 1 && i == len("[15:04:05]"):
		_, _, end := clockAt(b, 1)
		return b[0] == '[' && end == i-1
	}
	return false
}

// oneLetter returns the level for a letter in brackets.
func oneLetter(c byte) record.Level {
	switch c {
	case 'T', 'V', 'D', 'I', 'W', 'E', 'F', 'C':
		return letterLevel(c)
	}
	return record.None
}

// isSetOff reports whether a word behind the time that is not in capitals is a column: padded as Error of macOS, before a colon as
// libvirt's "error : text", or before the name of a process. nouns is set if it cannot be another word.
func isSetOff(b []byte, t *token, n int) (ok, nouns bool) {
	switch {
	case t.word+2 >= len(b):
	case b[t.word+1] == ' ':
		if isLowerLevel(b[t.start:t.word]) && isPadded(b, t.start) { // MaxScale's "error  : text"
			rest := bytes.TrimLeft(b[t.word:], " ")
			return len(rest) > 0 && rest[0] == ':', true
		}
		return isCapitalized(b, t) && isPadded(b, t.start), true
	case b[t.word+1] == '(' && isCapitalized(b, t) && isPadded(b, t.start): // Veeam's Error (3)
		return t.word+3 < len(b) && b[t.word+2]-'0' <= 9 && b[t.word+3] == ')', true
	case b[t.word+1] == ':' && b[t.word+2] == ' ':
		return true, true
	case n == 0 && (b[t.word+1] == '-' && b[t.word+2] == ' ' || b[t.word+1] == '['):
		return true, false
	case n == 1 && b[t.word+1] == '[' && b[t.word+2]-'A' < 26 && isCapitalized(b, t): // TIBCO's BW.shop-shop Error [BW-Core]
		return bytes.IndexByte(lastColumn(b[:t.start]), '.') > 0, false
	case n <= 1 && (isCapitalized(b, t) || inSet(b[t.start], 0, lowerLevels) && isLowerLevel(b[t.start:t.word])):
		return nameFollows(b, t.word+1), false
	}
	return false, false
}

// lastColumn returns the column at the end of b, behind which a blank stands.
func lastColumn(b []byte) []byte {
	b = bytes.TrimRight(b[max(0, len(b)-maxColumn):], " ")
	return b[bytes.LastIndexByte(b, ' ')+1:]
}

// isCapitalized reports whether the word of a token is written like Error.
func isCapitalized(b []byte, t *token) bool { return b[t.start]-'A' < 26 && b[t.start+1]-'a' < 26 }

// lowerLevels are the letters with which isLowerLevel's words begin.
const lowerLevels = 1<<('t'-64) | 1<<('d'-64) | 1<<('v'-64) | 1<<('i'-64) | 1<<('n'-64) | 1<<('w'-64) | 1<<('e'-64) | 1<<('c'-64) | 1<<('f'-64) | 1<<('p'-64)

// isLowerLevel reports whether a word is a level in lower case.
func isLowerLevel(word []byte) bool {
	switch string(word) {
	case "trace", "debug", "verbose", "info", "notice", "warn", "warning", "error", "err", "critical", "crit", "fatal", "panic", "emerg":
		return true
	}
	return false
}

// nameFollows reports whether behind a level in lower case the name of a process or logger stands at b[i], as of ESXi and Swift:
// info hostd[2099123] [Originator@6876], error vpxd[7F1A3B] [Originator@6876], error shop.orders : failed, Error Shop.Orders - failed.
func nameFollows(b []byte, i int) bool {
	t := scanToken(b, i)
	if t.kind != tokenMixed && t.kind != tokenWord || t.end+2 >= len(b) {
		return false
	}
	if b[t.end] == ' ' && b[t.end+2] == ' ' &&
		(b[t.end+1] == ':' || b[t.end+1] == '-' && bytes.IndexByte(b[i:t.end], '.') > 0) {
		return true
	}
	end := t.end
	if b[end-1] == ':' {
		end--
	} else if b[end] != ' ' || b[end+1] != '[' {
		return false
	}
	if b[end-1] != ']' {
		return false
	}
	k := end - 1
	for k > i && (b[k-1]-'0' <= 9 || b[k-1]-'A' < 6) {
		k--
	}
	return k < end-1 && k > i && b[k-1] == '['
}

// numberedLevel returns the level of ESXi's abbreviation with a priority behind the time: Er(163).
func (f *finding) numberedLevel(b []byte, t *token, n int) record.Level {
	switch string(b[t.start:t.word]) {
	case "Em", "Al", "Cr", "Er", "Wa", "No", "In", "Db":
	default:
		return record.None
	}
	end := digitsEnd(b, t.word+1)
	if !f.found || n > 0 || end == t.word+1 || end > t.word+4 || end+1 >= len(b) || b[end] != ')' || b[end+1] != ' ' {
		return record.None
	}
	priority := 0
	for _, c := range b[t.word+1 : end] {
		priority = priority*10 + int(c-'0')
	}
	return record.LevelFromSyslog(priority & 7)
}

// isIndented reports whether a TAB or two blanks or more, and nothing else, stand before b[i]. Sails writes " info: text".
func isIndented(b []byte, i int) bool {
	return i > 0 && (i > 1 || b[0] == '\t') && len(bytes.TrimLeft(b[:i], " \t")) == 0
}

// isPadded reports whether two blanks stand before b[i], as between columns.
func isPadded(b []byte, i int) bool { return i >= 2 && b[i-1] == ' ' && b[i-2] == ' ' }

// digitsEnd returns the end of the digits at b[i].
func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// joinedLevel returns the level that stands between colons, or before one and behind a point, in a column:
// db:[1234]:ERROR:, local.ERROR:.
func joinedLevel(column []byte) record.Level {
	end := bytes.LastIndexByte(column, ':')
	for end > 0 {
		start := end
		for start > 0 && column[start-1]-'A' < 26 {
			start--
		}
		if start == end && end > 0 && column[end-1] == ']' { // cloud-init's util.py[WARNING]:
			if start = bytes.LastIndexByte(column[:end], '[') + 1; start > 0 {
				return groupWord(column[start : end-1])
			}
			return record.None
		}
		if start > 0 && end-start >= 3 && (column[start-1] == ':' || column[start-1] == '.') {
			if level := record.LevelFromAlias(column[start:end]); level != record.None {
				return level
			}
		}
		end = bytes.LastIndexByte(column[:end], ':')
	}
	return record.None
}

// fenced reports whether the word that ends at b[end] stands between two separators of
// one kind, or between a comma and a gap.
func fenced(b []byte, end int, fence byte) bool {
	switch fence {
	case 0:
		return false
	case ',':
		return end < len(b) && b[end] == ',' || len(b) > end+1 && b[end] == ' ' && b[end+1] == ' '
	}
	_, next := skipSeparators(b, end)
	return next == fence
}

// isNoun reports whether an alias of a level is also a common word.
func isNoun(alias []byte) bool {
	switch alias[0] | 0x20 {
	case 'a', 'c', 'f', 'l', 'n', 's':
		for _, noun := range [...]string{"alert", "config", "fail", "fine", "log", "note", "success"} {
			if strings.EqualFold(string(alias), noun) {
				return true
			}
		}
	}
	return false
}

// levelInGroup returns the level that the content of brackets is or begins with: [error],
// [ WARN ], [core:error], [INFO/MainProcess], [ERROR tid=3]. Behind a clock it may end with it.
func levelInGroup(b []byte) record.Level {
	b = trimSpace(b)
	if len(b) > 0 && b[0]-'0' <= 9 {
		return clockLevel(b)
	}
	if len(b) > 0 && b[0] >= utf8.RuneSelf {
		return localLevel(b)
	}
	if module := bytes.LastIndexByte(b, ':'); module >= 0 && bytes.IndexByte(b, ' ') < 0 {
		if level := groupWord(b[module+1:]); level != record.None {
			return level
		}
	}
	end := wordEnd(b, 0)
	if end+1 == len(b) && b[end] == '!' { // [ERR!] of Azure IoT Edge
		b = b[:end]
	}
	if end < len(b) && b[end] == '.' || end+1 < len(b) && b[end+1] == '.' { // <local0.err>
		if level := facilityLevel(b); level != record.None {
			return level
		}
	}
	if end < len(b) && (b[end] != ' ' && b[end] != '/' && b[end] != ':' && b[end] != '|' || b[0] > 'Z') {
		return threadLevel(b)
	}
	if level := groupWord(b[:end]); level != record.None {
		return level
	}
	switch {
	case string(b) == "EE" || string(b) == "WW": // of X.org
		return letterLevel(b[0])
	case string(b) == "DEPRECATION WARNING": // of Ansible
		return record.Warn
	}
	return threadLevel(b)
}

// threadLevel returns the level in capitals behind a thread: Server thread/INFO.
func threadLevel(b []byte) record.Level {
	i := bytes.LastIndexByte(b, '/') + 1
	if i == 0 || i+3 > len(b) || b[i]-'A' >= 26 || b[i+1]-'A' >= 26 {
		return record.None
	}
	return groupWord(b[i:])
}

func groupWord(b []byte) record.Level {
	level := record.LevelFromAlias(b)
	if level != record.None && b[0] >= 'a' && isNoun(b) {
		return record.None // [config] is a module; MySQL's [Note] is a level
	}
	return level
}

// letterLevel returns the level for a letter in a format that uses letters.
func letterLevel(c byte) record.Level {
	switch c {
	case 'T', 'V':
		return record.Trace
	case 'D':
		return record.Debug
	case 'I', 'N':
		return record.Info
	case 'W':
		return record.Warn
	case 'E':
		return record.Error
	case 'F', 'A', 'C':
		return record.Fatal
	}
	return record.None
}

// levelLetter returns the level for the letter at b[i] if a format has one in the n-th column
// before or after the time.
func (f *finding) levelLetter(b []byte, i, n int) record.Level {
	if len(b) < i+4 {
		return record.None
	}
	next, after := b[i+1], b[i+2]
	anchored := false
	switch {
	case !f.found:
	case n == 0 && (next == ']' && b[i-1] == ' ' || next == '|' && b[i-1] == '|'): // Serilog's [2026-11-20 15:04:05 E], NLog's 15:04:05|E|
		return oneLetter(b[i])
	case next-'0' <= 9: // klog behind another header
		if n <= 2 {
			if m, end := klog(b[i:]); end > 0 {
				return m.level
			}
		}
		return record.None
	case n == 0 && next == '!' && after == ' ': // Telegraf's E!
		anchored = true
	case n == 0 && next == ' ' && after == '|': // etcd's W |
		anchored = true
	case f.layout == layoutISO && n == 0 && next == ' ' && inBrackets(b, i): // Ray's [2026-11-20 15:04:05,123 W 4242 4242]
		anchored = true
	case f.layout == layoutISO && n == 0 && isUnified(b, i): // macOS
		anchored = true
	case f.layout == layoutISO && n == 2: // logcat's with a year
		anchored = next == ' ' && after != ' ' && twoNumbersBefore(b, i)
	case f.layout == layoutLogcat:
		anchored = n == 2 && next == ' ' || n == 0 && next == '/' // 1702 2395 D tag: …; D/tag: …
	case f.layout == layoutISO:
		anchored = n == 0 && next == ' ' &&
			(after-'A' < 26 && b[i+3]-'A' < 26 || after == '-' || after == ' ' && (b[i+3]-'A' < 26 || b[i+3] == '-') || // MongoDB: I NETWORK …
				after == '[' || // GlusterFS: E [MSGID: 7]
				isLoggerName(column(b[i+2:])) || // QuestDB: E i.q.c.p.WriterPool
				isPlace(column(b[i+2:]))) // TensorFlow: E tensorflow/core/util/port.cc:113] …
	}
	if !anchored {
		return record.None
	}
	return letterLevel(b[i])
}

// column returns the beginning of b up to a blank.
func column(b []byte) []byte {
	b = b[:min(len(b), maxColumn)]
	if end := bytes.IndexByte(b, ' '); end >= 0 {
		return b[:end]
	}
	return b
}

// isPlace reports whether a column is a place in a program, as glog writes it: port.cc:113].
func isPlace(column []byte) bool {
	colon := bytes.LastIndexByte(column, ':')
	return colon > 0 && colon+2 < len(column) && digitsEnd(column, colon+1) == len(column)-1 && column[len(column)-1] == ']'
}

// twoNumbersBefore reports whether two columns before b[i] are numbers of up to five digits, padded on the left.
func twoNumbersBefore(b []byte, i int) bool {
	for range 2 {
		end := i - 1
		if end < 1 || b[end] != ' ' {
			return false
		}
		start := end
		for start > 0 && b[start-1]-'0' <= 9 {
			start--
		}
		for i = start; i > 1 && b[i-2] == ' '; i-- {
		}
		if n := end - start; n == 0 || n > 5 || start-i != 5-n {
			return false
		}
	}
	return true
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
