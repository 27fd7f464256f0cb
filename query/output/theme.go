package output

import (
	"hash/fnv"
	"strconv"

	"logstow/record"
)

// Colours are of the 256 fixed ones, and have a contrast of at least 3 to black and to white: they read
// on dark and light backgrounds. The exception is standOut, which follows the terminal's theme.
const (
	standOut = "\x1b[1;31m" // matches of a pattern, as in grep
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

// serviceColors returns the colours of services, which differ from those of levels.
func serviceColors() []int {
	return []int{30, 33, 62, 64, 94, 98, 132, 133, 136, 31, 29, 169}
}

// serviceColor returns the escape sequence for a new service and adds it to taken. It depends on the name, so that it is
// the same in each run, unless another service has it and others are free.
func serviceColor(name string, taken map[int]bool) string {
	const stride = 5 // neighbours are alike
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // it never fails
	colors := serviceColors()
	first := int(hash.Sum32() % uint32(len(colors)))
	color := colors[first]
	for i := range colors {
		if free := colors[(first+i*stride)%len(colors)]; !taken[free] {
			color = free
			break
		}
	}
	taken[color] = true
	return colorHead + strconv.Itoa(color) + "m"
}
