package record

import "fmt"

// The vocabulary as written.
const (
	nameNone  = "-"
	nameTrace = "TRACE"
	nameDebug = "DEBUG"
	nameInfo  = "INFO"
	nameWarn  = "WARN"
	nameError = "ERROR"
	nameFatal = "FATAL"
)

// String is the level's name in the vocabulary: TRACE, DEBUG, INFO, WARN, ERROR,
// FATAL, or "-" for None and for every value that is not a level.
func (l Level) String() string {
	switch l {
	case Trace:
		return nameTrace
	case Debug:
		return nameDebug
	case Info:
		return nameInfo
	case Warn:
		return nameWarn
	case Error:
		return nameError
	case Fatal:
		return nameFatal
	}
	return nameNone
}

// ParseLevel parses the output of [Level.String]. Any other name, also one in another
// case, is an error: see [LevelFromAlias] for the names that logs use.
func ParseLevel(name string) (Level, error) {
	if l, ok := parseLevel([]byte(name)); ok {
		return l, nil
	}
	return None, fmt.Errorf("parse level %q: want one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL or -", name)
}

func parseLevel(name []byte) (Level, bool) {
	switch string(name) {
	case nameNone:
		return None, true
	case nameTrace:
		return Trace, true
	case nameDebug:
		return Debug, true
	case nameInfo:
		return Info, true
	case nameWarn:
		return Warn, true
	case nameError:
		return Error, true
	case nameFatal:
		return Fatal, true
	}
	return None, false
}

// maxAlias is the length of the longest alias, "informational".
const maxAlias = 13

// LevelFromAlias returns the level for a name that logs and loggers use, in any case:
// the vocabulary itself, the names of syslog (emerg, alert, crit, err, warning,
// notice), of java.util.logging (severe, config, fine, finer, finest) and of .NET
// (information, verbose, fail, trce, dbug), and the usual short forms (wrn, inf, dbg,
// ftl; of logrus erro, debu, trac, fata, pani; cut at five letters warni, criti). It returns None for other names and for single letters.
func LevelFromAlias[T string | []byte](name T) Level {
	switch string(name) { // the most common names
	case "info", nameInfo:
		return Info
	case "warn", nameWarn:
		return Warn
	case "error", nameError:
		return Error
	case "debug", nameDebug:
		return Debug
	}
	if len(name) < 3 || len(name) > maxAlias {
		return None
	}
	var folded [maxAlias]byte
	for i := range len(name) {
		c := name[i]
		if c-'A' <= 'Z'-'A' {
			c |= 0x20
		}
		folded[i] = c
	}
	switch string(folded[:len(name)]) {
	case "info", "inf", "information", "informational", "notice", "note", "success", "log":
		return Info
	case "warn", "warning", "wrn", "warni":
		return Warn
	case "error", "err", "severe", "fail", "eror", "erro":
		return Error
	case "debug", "dbg", "dbug", "debg", "debu", "fine", "config":
		return Debug
	case "trace", "trc", "trce", "trac", "finer", "finest", "verbose", "vrb":
		return Trace
	case "fatal", "ftl", "critical", "crit", "crt", "alert", "emerg", "emergency", "panic", "dpanic", "fata", "pani", "criti":
		return Fatal
	}
	return None
}

// LevelFromSyslog maps a syslog severity, 0 (emergency) to 7 (debug), as in RFC
// 5424; it is None for other numbers.
func LevelFromSyslog(severity int) Level {
	switch severity {
	case 0, 1, 2:
		return Fatal
	case 3:
		return Error
	case 4:
		return Warn
	case 5, 6:
		return Info
	case 7:
		return Debug
	}
	return None
}

// LevelFromOTel maps an OpenTelemetry SeverityNumber, 1 (TRACE) to 24 (FATAL4);
// it is None for other numbers.
func LevelFromOTel(number int) Level {
	if number < 1 || number > 24 {
		return None
	}
	return Trace + Level((number-1)/4)
}
