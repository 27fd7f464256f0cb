package main

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// asked is what a command line requests: the reference answers it by looking at every record.
type asked struct {
	stores                      []int    // those named; nil is the first
	services, sources           []string // globs
	levels                      []string // nil is all
	patterns, regexps, excludes []string
	conditions                  []condition
	fold, substring             bool
	from, to                    time.Time
	zone                        *time.Location
	zoned                       bool // by --tz or --utc: all formats have it
	newest, count               bool
	limit, tail                 int // 0 is none
	format                      string
	fields                      []string

	ids      []string   // nil is no condition
	order    []ordering // nil is that of time
	distinct string     // "" if not given

	left string // a note about records without a value, "" is none

	has map[string]any // the fields of the records that are printed
}

// answer is what is printed, and the exit status.
func (a *asked) answer(w *world) (string, int) {
	var found []*stored
	for _, r := range w.all {
		if a.matches(r) {
			found = append(found, r)
		}
	}
	if a.distinct != "" {
		return a.values(found)
	}
	a.sort(found)
	if a.newest {
		slices.Reverse(found)
	}
	if a.limit > 0 {
		found = found[:min(len(found), a.limit)]
	}
	if a.tail > 0 {
		found = found[max(0, len(found)-a.tail):]
	}
	a.has = map[string]any{}
	for _, r := range found {
		maps.Copy(a.has, r.fields)
	}
	status := 0
	if len(found) == 0 {
		status = 1
	}
	if a.count {
		switch n := len(found); a.format {
		case "json", "flat":
			return fmt.Sprintf("{\"count\":%d}\n", n), status
		case "csv":
			return fmt.Sprintf("count\n%d\n", n), status
		default:
			return fmt.Sprintf("%d\n", n), status
		}
	}
	return a.print(found), status
}

func (a *asked) matches(r *stored) bool {
	stores := a.stores
	if stores == nil {
		stores = []int{0}
	}
	has := func(text string) bool { return a.contains(r.message, text) }
	fails := func(expr string) bool {
		if a.fold {
			expr = "(?i:" + expr + ")"
		}
		return !regexp.MustCompile(expr).MatchString(r.message)
	}
	return slices.Contains(stores, r.store) && !r.at.Before(a.from) && r.at.Before(a.to) &&
		anyGlob(a.services, r.service) && anyGlob(a.sources, r.source) && (a.levels == nil || slices.Contains(a.levels, r.level)) &&
		(a.ids == nil || slices.ContainsFunc(a.ids, has)) &&
		!slices.ContainsFunc(a.patterns, func(p string) bool { return !has(p) }) && !slices.ContainsFunc(a.regexps, fails) &&
		!slices.ContainsFunc(a.excludes, has) && !slices.ContainsFunc(a.conditions, func(c condition) bool { return c.of(r) != isTrue })
}

func anyGlob(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool { return globParts(strings.Split(g, "/"), strings.Split(name, "/")) })
}

// globParts matches the parts between slashes; "**" stands for any number of them.
func globParts(glob, name []string) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == "**":
		return globParts(glob[1:], name) || len(name) > 0 && globParts(glob, name[1:])
	}
	return len(name) > 0 && globPart(glob[0], name[0]) && globParts(glob[1:], name[1:])
}

func globPart(glob, name string) bool {
	switch {
	case glob == "":
		return name == ""
	case glob[0] == '*':
		return globPart(glob[1:], name) || name != "" && globPart(glob, name[1:])
	case glob[0] == '{':
		list, rest, _ := strings.Cut(glob[1:], "}")
		return slices.ContainsFunc(strings.Split(list, ","), func(item string) bool { return globPart(item+rest, name) })
	case name == "":
		return false
	case glob[0] == '[':
		set, rest, _ := strings.Cut(glob[1:], "]")
		return strings.IndexByte(set, name[0]) >= 0 && globPart(rest, name[1:])
	}
	return (glob[0] == '?' || glob[0] == name[0]) && globPart(glob[1:], name[1:])
}

// contains reports whether a message has a text: an identifier where it begins and ends none.
func (a *asked) contains(message, text string) bool {
	if a.fold {
		message, text = asciiLower(message), asciiLower(text)
	}
	whole := !a.substring && isIdentifier(text)
	for at := range len(message) - len(text) + 1 {
		if message[at:at+len(text)] != text {
			continue
		}
		end := at + len(text)
		if !whole || !endsInRun(message[:at]) && (end == len(message) || !inRun(message[end])) {
			return true
		}
	}
	return false
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// inRun reports whether a byte belongs to words: ASCII letters, digits, "_", and all that is not ASCII.
func inRun(b byte) bool {
	return b >= 0x80 || strings.IndexByte("_0123456789", b) >= 0 || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// endsInRun reports whether text ends inside a word that goes on behind it, and not with an escape.
func endsInRun(text string) bool {
	return text != "" && inRun(text[len(text)-1]) && !regexp.MustCompile(`\\([A-Za-z]|u[0-9A-Fa-f]{4})$`).MatchString(text)
}

func isIdentifier(text string) bool {
	for i := range len(text) { // bytes from 0x80 on count as letters
		if text[i] >= 0x80 {
			text = text[:i] + "x" + text[i+1:]
		}
	}
	return len(text) >= 7 && strings.ContainsAny(text, "0123456789") && regexp.MustCompile(`^\w+([.:-]\w+)*$`).MatchString(text)
}

// print prints records as the format has it.
func (a *asked) print(found []*stored) string {
	var out strings.Builder
	dated := a.dated()
	var table [][]string
	for _, r := range found {
		utc := r.at.UTC().Format("2006-01-02T15:04:05.000000000Z")
		if a.zoned {
			utc = r.at.In(a.zone).Format("2006-01-02T15:04:05.000000000Z07:00")
		}
		switch {
		case a.format == "csv":
			table = append(table, a.columns(r, utc))
		case (a.format == "json" || a.format == "flat") && a.fields != nil:
			out.WriteString(a.object(r, utc))
		case a.format == "json" || a.format == "flat":
			fmt.Fprintf(&out, `{"time":"%s","level":"%s","service":%s,"source":%s,"instance":%s,"message":%s`, utc, r.level, quoted(r.service), quoted(r.source), quoted(r.instance), quoted(r.message))
			if !utf8.ValidString(r.message) {
				fmt.Fprintf(&out, `,"message_base64":"%s"`, base64.StdEncoding.EncodeToString([]byte(r.message)))
			}
			if a.format == "flat" {
				out.WriteString(flatMembers(r))
			}
			out.WriteString("}\n")
		case a.fields != nil:
			line := a.columns(r, utc)
			for i, text := range line {
				line[i] = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text)
			}
			out.WriteString(strings.Join(line, "\t") + "\n")
		case a.format == "raw":
			out.WriteString(r.message + "\n")
		case a.format == "pretty":
			local := r.at.In(a.zone)
			dated = dated || local.Format(time.DateOnly) != worldNow().In(a.zone).Format(time.DateOnly)
			layout := "15:04:05.000"
			if dated {
				layout = "2006-01-02 " + layout
			}
			source := " " + r.source
			if r.source == "-" {
				source = ""
			}
			fmt.Fprintf(&out, "%s %-5s %s%s: %s\n", local.Format(layout), r.level, r.service, source, prettyMessage(r))
		default:
			fmt.Fprintf(&out, "%s\t%s\t%s\t%s\n", utc, r.level, r.source, strings.ReplaceAll(r.message, "\n", "\n\t"))
		}
	}
	if a.format == "csv" {
		return tableText(append([][]string{a.head()}, table...))
	}
	return out.String()
}

// dated reports whether a part of the range that is not in the future is of another day than today.
func (a *asked) dated() bool {
	today := worldNow().In(a.zone).Format(time.DateOnly)
	last := a.to.Add(-1)
	if last.After(worldNow()) {
		last = worldNow()
	}
	return a.from.In(a.zone).Format(time.DateOnly) != today || last.In(a.zone).Format(time.DateOnly) != today
}

func (a *asked) head() []string {
	if a.fields == nil {
		return []string{"time", "level", "service", "source", "message"}
	}
	return a.fields
}

func (a *asked) columns(r *stored, utc string) (line []string) {
	for _, name := range a.head() {
		v, ok := column(r, utc, name)
		if s, isText := v.(string); ok && isText {
			line = append(line, s)
		} else if ok && v == nil {
			line = append(line, "null")
		} else if ok {
			line = append(line, fmt.Sprint(v))
		} else {
			line = append(line, "")
		}
	}
	return line
}

// column is a value of a record, by the name that --fields gives it.
func column(r *stored, utc, name string) (any, bool) {
	switch name {
	case "time":
		return utc, true
	case "level":
		return r.level, true
	case "service":
		return r.service, true
	case "source":
		return r.source, true
	case "instance":
		return r.instance, true
	case "message":
		return r.message, true
	}
	name = strings.TrimPrefix(name, "message.")
	v, ok := r.fields[strings.TrimSuffix(strings.TrimPrefix(name, `field("`), `")`)]
	return v, ok
}

func (a *asked) object(r *stored, utc string) string {
	var members []string
	for _, name := range a.fields {
		v, ok := column(r, utc, name)
		if !ok {
			continue
		}
		text := fmt.Sprint(v)
		switch v := v.(type) {
		case nil:
			text = "null"
		case string:
			text = quoted(v)
		case bare:
			text = quoted(string(v))
		}
		members = append(members, quoted(name)+":"+text)
	}
	return "{" + strings.Join(members, ",") + "}\n"
}

// quoted is a JSON string.
func quoted(s string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSuffix(out.String(), "\n")
}

// visible writes bytes that are not UTF-8 as escapes.
func visible(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, s[0])
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// tableText is a table in a form that is different for all tables.
func tableText(table [][]string) string { return fmt.Sprintf("%q\n", table) }

// readTable reads CSV as others do, in the form of tableText.
func readTable(text string) string {
	r := csv.NewReader(strings.NewReader(text))
	table, err := r.ReadAll()
	if err != nil {
		return err.Error()
	}
	return tableText(table)
}
