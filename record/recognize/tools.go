package recognize

import (
	"bytes"

	"logstow/record"
)

// toolLevel finds the level in a line of a build tool, a package manager or a runtime, which has no time.
func toolLevel(line []byte) record.Level {
	head := line[:min(len(line), maxColumn)]
	switch c := line[0]; {
	case c == ' ' || c == thinSpace[0] || c-'0' <= 9:
		if level := pnpmLevel(head); level != record.None {
			return level
		}
		return uptimeLevel(head)
	case c == '#':
		return commandLevel(head)
	case c-'a' < 26:
		switch {
		case bytes.HasPrefix(head, []byte("log4j:")):
			return groupWord(head[len("log4j:"):wordEnd(head, len("log4j:"))])
		case bytes.HasPrefix(head, []byte("failed: [")): // of Ansible
			return record.Error
		case IsDException(head):
			return record.Error
		}
		return lowerLevel(head)
	case c-'A' < 26:
		return titledLevel(line, head)
	}
	return record.None
}

// titledLevel finds the level in a line that begins with a capital.
func titledLevel(line, head []byte) record.Level {
	for _, title := range [...]struct {
		start string
		level record.Level
	}{
		{"CMake Error", record.Error},
		{"CMake Internal Error", record.Error},
		{"CMake Deprecation Error", record.Error},
		{"CMake Warning", record.Warn},
		{"CMake Deprecation Warning", record.Warn},
		{"Error in `", record.Error},
		{"Warning message:", record.Warn},
		{"Warning messages:", record.Warn}, // of R
		{"ERROR! ", record.Error},          // of Ansible
	} {
		if bytes.HasPrefix(head, []byte(title.start)) {
			return title.level
		}
	}
	switch rest := head[wordEnd(head, 0):]; {
	case bytes.HasPrefix(head, []byte("FAILED ")): // of pytest
		if i := bytes.Index(head, []byte(".py")); i > 0 && bytes.IndexByte(head[len("FAILED "):i], ' ') < 0 {
			return record.Error
		}
	case bytes.HasPrefix(head, []byte("FAILED: ")): // of Ninja
		return record.Error
	case bytes.HasPrefix(head, []byte("Error in ")): // of R
		if i := bytes.IndexByte(head, '('); i > 0 && bytes.IndexByte(head[len("Error in "):i], ' ') < 0 &&
			bytes.Contains(head, []byte(") : ")) {
			return record.Error
		}
	case bytes.HasPrefix(rest, []byte(" 64-Bit Server VM warning: ")): // of the JVM
		return record.Warn
	case isFramed(line): // of .NET
		return record.Error
	case len(head) > 2 && head[1] == ' ': // SAP's M  *** ERROR => text
		if marked, found := bytes.CutPrefix(bytes.TrimLeft(head[1:], " "), []byte("*** ")); found {
			return groupWord(marked[:wordEnd(marked, 0)])
		}
	}
	return record.None
}

// isFramed reports whether a text is what .NET writes as it ends a process, with frames behind it.
func isFramed(text []byte) bool {
	for _, start := range [...]string{"Process terminated.", "Stack overflow.", "Fatal error. "} {
		if bytes.HasPrefix(text, []byte(start)) {
			return bytes.Contains(text, []byte("\n   at "))
		}
	}
	return false
}

// IsDException reports whether a line begins with an exception of D: core.exception.RangeError@shop.d(7): Range violation.
func IsDException(line []byte) bool {
	line = line[:min(len(line), maxColumn)]
	at := bytes.IndexByte(line, '@')
	place := bytes.Index(line, []byte(".d("))
	if at <= 0 || place < at || bytes.IndexByte(line[:place], ' ') >= 0 || bytes.IndexByte(line[:at], '.') < 0 {
		return false
	}
	number := place + len(".d(")
	end := digitsEnd(line, number)
	return end > number && bytes.HasPrefix(line[end:], []byte("): "))
}

// lowerLevel returns the level in lower case at the start of a line, before a capital, a quote or the name of a file: error Command
// failed with exit code 1.
func lowerLevel(line []byte) record.Level {
	end := wordEnd(line, 0)
	if end+2 >= len(line) || line[end] != ' ' {
		return record.None
	}
	level := record.None
	if isLowerLevel(line[:end]) {
		level = record.LevelFromAlias(line[:end])
	} else if string(line[:end]) == "success" {
		level = record.Info
	}
	switch next := line[end+1]; {
	case level == record.None, next-'A' < 26 && line[end+2]|0x20-'a' < 26, next == '"':
		return level
	}
	if file := column(line[end+1:]); bytes.HasSuffix(file, []byte(".json:")) {
		return level
	}
	return record.None
}

// thinSpace is the blank that pnpm writes around levels and codes.
const thinSpace = "\u2009"

// pnpmLevel returns the level of a line of pnpm: WARN, ERR_PNPM_FETCH_404 or ELIFECYCLE between blanks.
func pnpmLevel(line []byte) record.Level {
	rest, thin := bytes.CutPrefix(line, []byte(thinSpace))
	if !thin {
		if len(line) < 2 || line[0] != ' ' || line[1]-'A' >= 26 {
			return record.None
		}
		rest = line[1:]
	}
	end := 0
	for end < len(rest) && (rest[end]-'A' < 26 || rest[end]-'0' <= 9 || rest[end] == '_') {
		end++
	}
	if !bytes.HasPrefix(rest[end:], []byte(thinSpace)) && !bytes.HasPrefix(rest[end:], []byte("  ")) {
		return record.None
	}
	if code := rest[:end]; bytes.HasPrefix(code, []byte("ERR_")) || string(code) == "ELIFECYCLE" {
		return record.Error
	}
	return groupWord(rest[:end])
}

// uptimeLevel returns the level behind the seconds since the start and before a place: 0.123 Error Util.cpp:97: Cannot open file, of
// Factorio.
func uptimeLevel(line []byte) record.Level {
	line = bytes.TrimLeft(line, " ")
	end := digitsEnd(line, 0)
	if end == 0 || end+len(".123 ") >= len(line) || line[end] != '.' || digitsEnd(line, end+1) != end+len(".123") ||
		line[end+len(".123")] != ' ' {
		return record.None
	}
	line = line[end+len(".123 "):]
	end = wordEnd(line, 0)
	if end == 0 || end == len(line) || line[end] != ' ' {
		return record.None
	}
	if place := column(line[end+1:]); len(place) < len("a.c:1:") || place[len(place)-1] != ':' || place[len(place)-2]-'0' > 9 {
		return record.None
	}
	return groupWord(line[:end])
}

// isStream reports whether the token at b[start:end] is the stream of a line of Cloud Foundry, behind its time and source:
// [APP/PROC/WEB/0] OUT.
func isStream(b []byte, start, end int) bool {
	if word := b[start:end]; string(word) != "OUT" && string(word) != "ERR" || start < len("[RTR/1] ") || end == len(b) ||
		b[end] != ' ' || b[start-1] != ' ' || b[start-2] != ']' {
		return false
	}
	open := bytes.LastIndexByte(b[:start], '[')
	source := b[open+1 : start-2]
	return bytes.IndexByte(source, '/') > 0 && source[0]-'A' < 26 && bytes.IndexByte(source, ' ') < 0 &&
		bytes.Equal(bytes.ToUpper(source), source)
}

// netBackupLevel returns the level for a severity in angle brackets of NetBackup: 15:04:05.123 [4242.4711] <16> bpbrm Exit: text.
func netBackupLevel(severity []byte) record.Level {
	switch string(severity) {
	case "1", "2":
		return record.Debug
	case "4":
		return record.Info
	case "8":
		return record.Warn
	case "16":
		return record.Error
	case "32":
		return record.Fatal
	}
	return record.None
}
