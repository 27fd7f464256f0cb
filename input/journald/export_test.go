package journald_test

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// second is the time of entry 0.
const second = 1795000000

// field is a field in the export format.
func field(name, value string) string {
	if !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\uFFFD' }) {
		return name + "=" + value + "\n"
	}
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(value)))) + value + "\n"
}

func cursor(i int) string { return fmt.Sprintf("s=0123;i=%x", i) }

// export is entry i in the export format: pairs of names and values follow what every entry has.
func export(i int, pairs ...string) string {
	var b strings.Builder
	b.WriteString(field("__CURSOR", cursor(i)))
	fmt.Fprintf(&b, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=0123456789abcdef0123456789abcdef\n", second*1_000_000+i, 1000+i)
	for p := 0; p < len(pairs); p += 2 {
		b.WriteString(field(pairs[p], pairs[p+1]))
	}
	b.WriteString("\n")
	return b.String()
}

// line is an entry with a message, as services write them.
func line(i int) string {
	return export(i, "PRIORITY", "4", "_SYSTEMD_UNIT", "app.service", "SYSLOG_IDENTIFIER", "app", "MESSAGE", fmt.Sprintf("line %d", i))
}

// lines are the entries from, from+1, … to-1.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}
