package output

import (
	"hash/fnv"
	"strconv"

	"logstow/record"
)

// Colours are of the 256 fixed ones, and have a contrast of at least 3 to black and to white: they read
// on dark and light backgrounds. The exception is standOut, which follows the terminal's theme.
const (
	standOut = "\x1b[1;31m" // what a pattern found, as grep shows it
	plainly  = "\x1b[0m"

	grey      = "\x1b[38;5;244m" // time, source, names of fields, marks
	magenta   = "\x1b[1;38;5;164m"
	red       = "\x1b[38;5;160m"
	orange    = "\x1b[38;5;166m"
	green     = "\x1b[38;5;28m"
	colorHead = "\x1b[38;5;"
)

// levelColor is the escape sequence for a level.
func levelColor(l record.Level) string {
	switch l {
	case record.Fatal:
		return magenta
	case record.Error:
		return red
	case record.Warn:
		return orange
	case record.Info:
		return green
	}
	return grey
}

// serviceColors are those of services: none is that of a level.
func serviceColors() []int {
	return []int{30, 33, 62, 64, 94, 98, 132, 133, 136, 31, 29, 169}
}

// serviceColor is the escape sequence for a service: always the same for the same name.
func serviceColor(name string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // it never fails
	colors := serviceColors()
	return colorHead + strconv.Itoa(colors[int(hash.Sum32()%uint32(len(colors)))]) + "m"
}
