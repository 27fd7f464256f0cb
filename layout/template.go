package layout

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is the precision of a time in a name.
type unit int

const (
	noTime unit = iota
	year
	month
	day
	hour
	minute
	second
	instant
)

// placeholder is what a name in braces stands for.
type placeholder struct {
	expression string
	unit       unit
	format     string // of a time, as in package time
}

// placeholders are the names that a pattern may have in braces.
func placeholders() map[string]placeholder {
	return map[string]placeholder{
		"yyyy":    {`\d{4}`, year, "2006"},
		"MM":      {`\d{2}`, month, "01"},
		"dd":      {`\d{2}`, day, "02"},
		"HH":      {`\d{2}`, hour, "15"},
		"mm":      {`\d{2}`, minute, "04"},
		"ss":      {`\d{2}`, second, "05"},
		"unix":    {`\d{9,10}`, instant, ""},
		"millis":  {`\d{12,13}`, instant, ""},
		"service": {`[^/]+`, noTime, ""},
		"*":       {`[^/]*`, noTime, ""},
		"**":      {`.*`, noTime, ""},
		// The following are for built-in layouts.
		"resource":  {`(?i:resourceId|tenantId|WorkspaceResourceId|flowLogResourceID)=[^/]*`, noTime, ""},
		"container": {`(?:insights-|am-)[^/]*`, noTime, ""},
	}
}

// builtin reports whether a placeholder is for built-in layouts.
func builtin(name string) bool { return name == "resource" || name == "container" }

// token is literal text, or a placeholder.
type token struct {
	text string
	name string // "" for text
	placeholder
}

// component is a part of a name between slashes.
type component struct {
	tokens []token
	// whole matches the component.
	whole *regexp.Regexp
	// any is set if it stands for any number of components.
	any bool
	// finest is the precision of the time in it; others is set if it has placeholders that are no times.
	finest unit
	others bool
}

// head is the text that the component begins with.
func (c *component) head() string {
	if len(c.tokens) > 0 && c.tokens[0].name == "" {
		return c.tokens[0].text
	}
	return ""
}

// literal reports whether the component has no placeholders.
func (c *component) literal() bool { return c.finest == noTime && !c.others }

// dated reports whether the component consists of text and times that are known in advance.
func (c *component) dated() bool { return c.finest > noTime && c.finest <= hour && !c.others }

// at is the component for a time.
func (c *component) at(t time.Time) string {
	var b strings.Builder
	for _, k := range c.tokens {
		if k.name == "" {
			b.WriteString(k.text)
		} else {
			b.WriteString(t.Format(k.format))
		}
	}
	return b.String()
}

// template is a pattern of names.
type template struct {
	components []component
	whole      *regexp.Regexp
	// names are those of the groups of whole.
	names []string
}

// compile parses a pattern: text, {yyyy} {MM} {dd} {HH} {mm} {ss} {unix} {millis}, {service}, {*} for any text without a slash and {**} for
// any text.
func compile(pattern string, extra bool) (*template, error) {
	t := &template{}
	var whole strings.Builder
	whole.WriteString("^")
	known := placeholders()
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		c := component{any: part == "{**}" && i < len(parts)-1}
		var err error
		if c.tokens, err = tokens(part, known, extra); err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if c.any {
			whole.WriteString("(?:.*/)?")
			t.components = append(t.components, c)
			continue
		}
		var own strings.Builder
		own.WriteString("^")
		for _, k := range c.tokens {
			expression := regexp.QuoteMeta(k.text)
			if k.name != "" {
				expression = k.expression
				c.finest, c.others = max(c.finest, k.unit), c.others || k.unit == noTime
			}
			own.WriteString(expression)
			if k.name == "service" || k.unit > noTime {
				expression = "(" + expression + ")"
				t.names = append(t.names, k.name)
			}
			whole.WriteString(expression)
		}
		if i < len(parts)-1 {
			whole.WriteString("/")
		}
		if c.whole, err = regexp.Compile(own.String() + "$"); err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		t.components = append(t.components, c)
	}
	var err error
	if t.whole, err = regexp.Compile(whole.String() + "$"); err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	return t, t.check(pattern)
}

// tokens splits a part of a pattern.
func tokens(part string, known map[string]placeholder, extra bool) (all []token, err error) {
	for part != "" {
		text, rest, open := strings.Cut(part, "{")
		if text != "" {
			all = append(all, token{text: text})
		}
		if !open {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("{%s is not closed: want {%s}", rest, rest)
		}
		p, ok := known[name]
		if !ok || builtin(name) && !extra {
			return nil, fmt.Errorf("{%s}: want {yyyy} {MM} {dd} {HH} {mm} {ss} {unix} {millis} {service} {*} or {**}", name)
		}
		all = append(all, token{name: name, placeholder: p})
		part = after
	}
	return all, nil
}

// check reports a pattern that cannot be used.
func (t *template) check(pattern string) error {
	for i, name := range t.names {
		if slices.Contains(t.names[:i], name) {
			return fmt.Errorf("%s: {%s} occurs twice", pattern, name)
		}
	}
	if slices.Contains(t.names, "unix") || slices.Contains(t.names, "millis") {
		return nil
	}
	missing := false
	for _, name := range []string{"yyyy", "MM", "dd", "HH", "mm", "ss"} {
		has := slices.Contains(t.names, name)
		if has && missing {
			return fmt.Errorf("%s: {%s} needs the larger units of time, {yyyy} {MM} {dd} …, too", pattern, name)
		}
		missing = missing || !has
	}
	if pattern == "" || strings.HasPrefix(pattern, "/") {
		return fmt.Errorf("%q: want the names of blobs, such as {service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz", pattern)
	}
	return nil
}

// match returns the service and the period in a name. A period without an end is none.
func (t *template) match(name string, zone *time.Location) (service string, start, end time.Time, ok bool) {
	found := t.whole.FindStringSubmatch(name)
	if found == nil {
		return "", start, end, false
	}
	numbers := map[string]int{"MM": 1, "dd": 1}
	finest := noTime
	known := placeholders()
	for i, name := range t.names {
		text := found[i+1]
		switch name {
		case "service":
			service = text
			continue
		case "unix", "millis":
			n, _ := strconv.ParseInt(text, 10, 64)
			at := time.Unix(n, 0)
			if name == "millis" {
				at = time.UnixMilli(n)
			}
			return t.service(found), at.UTC(), at.UTC().Add(1), true
		}
		numbers[name], _ = strconv.Atoi(text)
		finest = max(finest, known[name].unit)
	}
	if finest == noTime {
		return service, time.Time{}, time.Time{}, true
	}
	n := numbers
	if n["MM"] < 1 || n["MM"] > 12 || n["dd"] < 1 || n["dd"] > 31 || n["HH"] > 23 || n["mm"] > 59 || n["ss"] > 60 {
		return "", start, end, false
	}
	start = earlier(time.Date(n["yyyy"], time.Month(n["MM"]), n["dd"], n["HH"], n["mm"], n["ss"], 0, zone))
	end = finest.next(start)
	if again := start.Add(time.Hour); again.Hour() == start.Hour() { // clocks were put back, and names say twice the same
		end = end.Add(time.Hour)
	}
	return service, start.UTC(), end.UTC(), true
}

// service is the service among the matches of a name, "" if there is none.
func (t *template) service(found []string) string {
	if i := slices.Index(t.names, "service"); i >= 0 {
		return found[i+1]
	}
	return ""
}

// begin is the start of the unit with a time.
func (u unit) begin(t time.Time) time.Time {
	y, m, d := t.Date()
	switch u {
	case year:
		return time.Date(y, 1, 1, 0, 0, 0, 0, t.Location())
	case month:
		return time.Date(y, m, 1, 0, 0, 0, 0, t.Location())
	case day:
		return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
	default:
		return earlier(time.Date(y, m, d, t.Hour(), 0, 0, 0, t.Location()))
	}
}

// earlier is the first of the two times with the clock of a time, where clocks were put back.
func earlier(t time.Time) time.Time {
	if before := t.Add(-time.Hour); before.Hour() == t.Hour() {
		return before
	}
	return t
}

// next is the end of the unit that starts at a time.
func (u unit) next(t time.Time) time.Time {
	switch u {
	case year:
		return t.AddDate(1, 0, 0)
	case month:
		return t.AddDate(0, 1, 0)
	case day:
		return t.AddDate(0, 0, 1)
	case hour:
		return t.Add(time.Hour)
	case minute:
		return t.Add(time.Minute)
	default:
		return t.Add(time.Second)
	}
}
