package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/internal/timearg"
)

// commandLine is a random command line, and by its parts what it requests.
type commandLine struct {
	asked

	args []string
	// mistake is in the usage error that it ends with, "" where it is right.
	mistake string

	w     *world
	rnd   *rand.Rand
	parts [][]string // flags with their values
	utc   bool
}

func randomLine(w *world) *commandLine {
	l := &commandLine{w: w, rnd: w.rnd}
	l.from, l.to, l.format = worldNow().Add(-time.Hour), worldNow().Add(time.Hour), "text"
	l.zone = time.Local
	if l.utc = l.rnd.IntN(2) == 0; l.utc {
		l.zone, l.zoned = time.UTC, true
		l.add("--utc")
	} else if l.rnd.IntN(3) == 0 {
		name := oneOf(l.rnd, "UTC", "local", "Asia/Kolkata", "America/New_York", "-03:30", "+0200")
		zone, err := timearg.ParseZone(name)
		if err != nil {
			panic(err)
		}
		l.zone, l.zoned = zone, true
		l.flag("tz", name)
	}
	for range l.rnd.IntN(5) / 3 * (1 + l.rnd.IntN(2)) {
		i := l.rnd.IntN(2)
		l.stores = append(l.stores, i)
		l.flag("store", w.dirs[i])
	}
	if slices.Sort(l.stores); len(slices.Compact(slices.Clone(l.stores))) < len(l.stores) {
		l.stores, l.parts = nil, slices.DeleteFunc(l.parts, func(p []string) bool { return strings.HasPrefix(p[0], "--store") })
	}
	l.repeat("service", &l.services, 2, "web", "shop", "batch", "*", "w*", "web-???", "s.[abc]", "{web,shop}", "wbe", "nix", "s*p", "*b*")
	l.repeat("source", &l.sources, 3, "app.log", "*.log", "**/*.log", "logs/**", "logs/*.log", "a,b.log", " blank.log ", " *", "none", "-", "[al]*", "**")
	l.randomLevels()
	if l.fold = l.rnd.IntN(4) == 0; l.fold {
		l.add(oneOf(l.rnd, "-i", "--ignore-case", "-ii"))
	}
	l.texts("regexp", &l.regexps, 3)
	l.texts("exclude", &l.excludes, 3)
	l.texts("", &l.patterns, 3)
	for range l.rnd.IntN(2) * (1 + l.rnd.IntN(3)) {
		c := randomCondition(l.rnd, 2)
		l.conditions = append(l.conditions, c)
		l.flag("where", c.text)
	}
	if l.substring = l.rnd.IntN(5) == 0; l.substring {
		l.add("--substring")
	}
	if l.rnd.IntN(3) == 0 {
		l.flag("plan", oneOf(l.rnd, "auto", "list", "index"))
	}
	l.randomIDs()
	l.randomRange()
	l.randomOutput()
	switch ordered := l.distinct != "" || l.order != nil; {
	case l.rnd.IntN(8) > 0:
	case ordered:
		l.mistake = "cannot be used together with"
		l.add(oneOf(l.rnd, "--newest", "--tail=3", "-C1", "-A2", "--before-context=1", "--follow"))
	default:
		l.randomMistake()
	}
	l.compose()
	return l
}

// compose puts patterns before, between and behind the flags; behind "--" from the first on
// that looks like a flag.
func (l *commandLine) compose() {
	l.rnd.Shuffle(len(l.parts), func(i, j int) { l.parts[i], l.parts[j] = l.parts[j], l.parts[i] })
	parts := l.parts
	for i, p := range l.patterns {
		if strings.HasPrefix(p, "-") || l.rnd.IntN(6) == 0 {
			parts = append(parts, append([]string{"--"}, l.patterns[i:]...))
			break
		}
		parts = slices.Insert(parts, l.rnd.IntN(len(parts)+1), []string{p})
	}
	l.args = slices.Concat([]string{"logq", "query"}, slices.Concat(parts...))
}

func (l *commandLine) add(args ...string) { l.parts = append(l.parts, args) }

// flag adds a flag with a value in one of the spellings that there are.
func (l *commandLine) flag(name, value string) {
	spellings := [][]string{{"--" + name, value}, {"--" + name + "=" + value}}
	if short := map[string]string{"service": "s", "level": "l", "regexp": "e", "exclude": "x", "limit": "n", "output": "o"}[name]; short != "" {
		spellings = append(spellings, []string{"-" + short, value}, []string{"-" + short + "=" + value})
		if value != "" && value[0] != '=' {
			spellings = append(spellings, []string{"-" + short + value})
			if l.fold {
				spellings = append(spellings, []string{"-i" + short + value}, []string{"-i" + short, value})
			}
		}
	}
	l.add(oneOf(l.rnd, spellings...)...)
}

// repeat adds a flag of some of the values, one time in odds.
func (l *commandLine) repeat(name string, to *[]string, odds int, values ...string) {
	if l.rnd.IntN(odds) > 0 {
		return
	}
	for range 1 + l.rnd.IntN(3) {
		value := oneOf(l.rnd, values...)
		*to = append(*to, value)
		l.flag(name, value)
	}
}

// texts adds texts to look for: parts of messages, and others.
func (l *commandLine) texts(name string, to *[]string, odds int) {
	if l.rnd.IntN(odds) > 0 {
		return
	}
	for range 1 + l.rnd.IntN(2) {
		text := l.randomText()
		if l.fold && l.rnd.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		if name == "regexp" {
			text = l.randomRegexp(text)
		}
		*to = append(*to, text)
		if name != "" {
			l.flag(name, text)
		}
	}
}

func (l *commandLine) randomText() string {
	message := l.w.all[l.rnd.IntN(len(l.w.all))].message
	if message == "" || l.rnd.IntN(2) == 0 {
		return oneOf(l.rnd, " ", "  ", ",", "\t", "\n", " order-12345", "order-12345", "order-12345", "order-12345", "ORDER-12345 ", "Order-12345", "order-123456", "12345", "10.0.0.7", "0.0.0.7",
			"a1b2c3d4e5", "1b2c3d4e5", "a,b", "=x", "-x", "--dash", "--", `"`, "Ün", "ünï", "ä", "two\nlines", "two\nlines", "o\nl", "lines\n", "nowhere", "{", "status", `"ok":true`, " 5", "5")
	}
	from := l.rnd.IntN(len(message))
	return message[from : from+1+l.rnd.IntN(min(12, len(message)-from))]
}

func (l *commandLine) randomRegexp(text string) string {
	text = regexp.QuoteMeta(strings.ToValidUTF8(text, "."))
	return oneOf(l.rnd, text, "^"+text, text+"$", "(?i)"+text, " "+text, text+"{1,2}", text+"|nowhere", "("+text+")?x", `\d+`, `(?m)^\s`)
}

func (l *commandLine) randomLevels() {
	if l.rnd.IntN(3) > 0 {
		return
	}
	levels := []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
	aliases := [][]string{{"trace", "Finest"}, {"debug", "DBG"}, {"info", "notice"}, {"warn", "warning"}, {"error", "ERR", "severe"}, {"fatal", "critical", "emerg"}}
	for range 1 + l.rnd.IntN(2) {
		var list []string
		for range 1 + l.rnd.IntN(2) {
			i := l.rnd.IntN(len(levels))
			name := oneOf(l.rnd, aliases[i]...)
			switch l.rnd.IntN(5) {
			case 0:
				l.levels = append(l.levels, levels[i:]...)
				list = append(list, name+"+")
			case 1:
				l.levels = append(l.levels, "-")
				list = append(list, oneOf(l.rnd, "-", "none"))
			default:
				l.levels = append(l.levels, levels[i])
				list = append(list, name)
			}
		}
		l.flag("level", strings.Join(list, oneOf(l.rnd, ",", ", ", " , ")))
	}
}

// moment is a time that records are at or near, not after last.
func (l *commandLine) moment(last time.Time) time.Time {
	at := l.w.all[l.rnd.IntN(len(l.w.all))].at
	if l.rnd.IntN(3) == 0 {
		at = at.Truncate(time.Minute)
	}
	if l.rnd.IntN(12) == 0 {
		year, month, day := at.In(l.zone).Date()
		at = time.Date(year, month, day, 0, 0, 0, 0, l.zone)
	}
	if at.After(last) {
		return last
	}
	return at
}

// spelled is a time in one of the ways in which it can be written.
func (l *commandLine) spelled(at time.Time) string {
	local, now := at.In(l.zone), worldNow().In(l.zone)
	texts := []string{
		at.UTC().Format(time.RFC3339Nano), local.Format(time.RFC3339Nano), at.In(time.FixedZone("", 5400)).Format("2006-01-02 15:04:05.999999999 -0700"),
		local.Format("2006-01-02 15:04:05.999999999"), local.Format("2006-01-02T15:04:05,999999999"), local.Format("Jan 2 15:04:05.999999999"),
		strconv.FormatInt(at.UnixNano(), 10), fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()), local.Format("02/Jan/2006:15:04:05.999999999"),
		at.UTC().Format("Jan 2 15:04:05.999999999 2006 UTC"),
	}
	days := map[string]string{now.Format(time.DateOnly): "today", now.AddDate(0, 0, -1).Format(time.DateOnly): "yesterday"}
	day := days[local.Format(time.DateOnly)]
	if day != "" {
		texts = append(texts, day+" "+local.Format("15:04:05.999999999"))
	}
	if day == "today" {
		texts = append(texts, local.Format("15:04:05.999999999"))
	}
	if at.Truncate(time.Minute).Equal(at) {
		texts = append(texts, strconv.FormatInt(at.Unix(), 10), strconv.FormatInt(at.UnixMilli(), 10), local.Format("2006-01-02 15:04"), local.Format("2 Jan 15:04"), local.Format("January 2, 2006 15:04"))
		if ago := now.Sub(at); ago > 0 {
			texts = append(texts, fmt.Sprintf("-%dm", ago/time.Minute), fmt.Sprintf("%d hours %d minutes ago", ago/time.Hour, ago%time.Hour/time.Minute), fmt.Sprintf("%v ago", ago))
		} else if ago < 0 {
			texts = append(texts, "+"+(-ago).String())
		}
	}
	if local.Format("15:04:05.999999999") == "00:00:00" {
		texts = append(texts, local.Format("2006-01-02"), local.Format("20060102"), local.Format("Jan 2"))
		if day != "" {
			texts = append(texts, day, day)
		}
	}
	return oneOf(l.rnd, texts...)
}

func (l *commandLine) randomRange() {
	const least = time.Minute
	switch l.rnd.IntN(10) {
	case 0: // none: the last hour
		return
	case 1, 2:
		l.from = l.moment(worldNow().Add(-least)).Truncate(time.Minute)
		ago := worldNow().Sub(l.from)
		l.flag("since", oneOf(l.rnd, fmt.Sprintf("%dm", ago/time.Minute), ago.String(), fmt.Sprintf("%dh%dm", ago/time.Hour, ago%time.Hour/time.Minute), l.spelled(l.from)))
	default:
		l.from = l.moment(worldNow().Add(-least))
		l.flag(oneOf(l.rnd, "from", "from", "since"), l.spelled(l.from))
	}
	if l.rnd.IntN(2) == 0 {
		for l.to = l.from; !l.from.Before(l.to); {
			l.to = l.moment(worldNow().Add(90 * time.Minute))
		}
		l.flag("to", l.spelled(l.to))
	}
}

func (l *commandLine) randomOutput() {
	if l.rnd.IntN(4) > 0 {
		l.format = oneOf(l.rnd, "raw", "raw", "text", "json", "flat", "csv", "pretty")
		l.flag("output", l.format)
	}
	if l.rnd.IntN(5) == 0 {
		l.count = true
		l.add("--count")
	}
	if l.rnd.IntN(4) == 0 {
		for range 1 + l.rnd.IntN(2) {
			var list []string
			for range 1 + l.rnd.IntN(3) {
				name := oneOf(l.rnd, "time", "level", "service", "source", "instance", "message", "status", "user", "id", "http.method", "ok", "tags", `field("a,b")`, `field("level")`, "message.source", `field("5m")`, "nosuch")
				if !slices.Contains(l.fields, name) {
					list, l.fields = append(list, name), append(l.fields, name)
				}
			}
			if list == nil {
				break
			}
			l.flag("fields", strings.Join(list, oneOf(l.rnd, ",", ", ")))
		}
		last := len(l.parts) - 1 // their order counts, so they stay together
		if last > 0 && strings.HasPrefix(l.parts[last-1][0], "--fields") {
			l.parts = append(l.parts[:last-1], slices.Concat(l.parts[last-1:]...))
		}
	}
	if l.randomOrder() {
		return
	}
	if !l.count && l.rnd.IntN(5) == 0 {
		l.tail = 1 + l.rnd.IntN(20)
		l.flag("tail", strconv.Itoa(l.tail))
		return
	}
	if l.newest = l.rnd.IntN(4) == 0; l.newest {
		l.add("--newest")
	}
	if l.rnd.IntN(3) == 0 {
		l.limit = 1 + l.rnd.IntN(20)
		l.flag("limit", strconv.Itoa(l.limit))
	}
}

// randomMistake makes the command line wrong in one way.
func (l *commandLine) randomMistake() {
	given := func(name string) bool {
		return slices.ContainsFunc(l.parts, func(p []string) bool { return strings.HasPrefix(p[0], "--"+name) })
	}
	twice := func(name, one, other string) {
		l.parts = slices.DeleteFunc(l.parts, func(p []string) bool { return strings.HasPrefix(p[0], "--"+name) })
		l.flag(name, one)
		l.flag(name, other)
		l.mistake = "--" + name + " is given more than once"
	}
	wrong := func(mistake string, args ...string) {
		l.add(args...)
		l.mistake = mistake
	}
	list := []func(){
		func() { twice("plan", "list", "auto") },
		func() { twice("max-bytes", "1GiB", "1GiB") },
		func() { twice("color", "never", "auto") },
		func() { twice("to", "now", "now") },
		func() { twice("follow-window", "1h", "2h") },
		func() {
			name := oneOf(l.rnd, "ids-from", "regexp", "exclude", "service", "source", "level", "where", "fields", "store")
			l.flag(name, "")
			l.mistake = "has an empty value"
		},
		func() { l.patterns, l.mistake = append(l.patterns, ""), "PATTERN is empty" },
		func() { wrong("did you mean --exclude?", "--exlude", "x") },
		func() { wrong("unknown flag", "--json=1") },
		func() {
			wrong("--where", "--where", oneOf(l.rnd, "status >= ", "status ==", "(user", `user == "`, "level == 'loud'", "nosuch(1)", "has(user", "len(user) == 'x'"))
		},
		func() {
			l.flag("level", oneOf(l.rnd, "wran", "warn++", "-+", "5", "error;fatal"))
			l.mistake = "is not a level"
		},
		func() {
			l.flag("level", oneOf(l.rnd, "warn,", ",", "warn,,error"))
			l.mistake = "empty item"
		},
		func() { l.flag("fields", oneOf(l.rnd, `field("a`, "a[", "a,'b")); l.mistake = "is not closed" },
		func() {
			l.flag("fields", oneOf(l.rnd, "a b", "len(a)", `"a"`, "field(a)", `field("a").b`))
			l.mistake = "at character"
		},
		func() {
			l.flag("fields", oneOf(l.rnd, "x,x", `x,field("x")`, `x,field('x')`, `message.time,field("time")`))
			l.mistake = "--fields: "
		},
		func() { l.flag("fields", oneOf(l.rnd, "5m", "day", "1w")); l.mistake = "is a time step" },
		func() { l.flag("regexp", oneOf(l.rnd, "(", "[a", "a**", `\8`)); l.mistake = "regular expression" },
		func() {
			l.flag("service", oneOf(l.rnd, "Web", "web,shop", " web", "web "))
			l.mistake = "neither a service's name"
		},
		func() { l.flag("source", oneOf(l.rnd, "[a", "{a")); l.mistake = "is not a glob" },
		func() { l.parts, l.patterns, l.mistake = [][]string{{"-n"}}, nil, "-n needs a value" },
		func() {
			if !given("from") && !given("since") {
				l.flag("since", oneOf(l.rnd, "soon", "5", "1 hour", "0h", "-", "2026-13-01"))
				l.mistake = "neither a duration nor a time"
				return
			}
			l.flag(map[bool]string{true: "since", false: "from"}[given("from")], "1h ago")
			l.mistake = "--since cannot be used together with --from"
		},
	}
	if !given("output") && l.format == "text" {
		list = append(list, func() { l.flag("output", oneOf(l.rnd, "jsn", "RAW", " raw")); l.mistake = "--output" })
	}
	if l.limit == 0 {
		list = append(list, func() { l.flag("limit", oneOf(l.rnd, "0", "-1", "five", "1.5", " 5", "1e3")); l.mistake = "want" },
			func() { wrong("--limit is given more than once", "-n", "5", "--limit=6") })
	}
	if l.zoned {
		list = append(list, func() { wrong("--tz", map[bool]string{true: "--tz=UTC", false: "--utc"}[l.utc]) })
	} else {
		list = append(list, func() {
			l.flag("tz", oneOf(l.rnd, "Europe/Nowhere", "+25:00", "../UTC", "utc "))
			l.mistake = "is not a time zone"
		})
	}
	if !l.utc {
		list = append(list, func() { wrong("--utc is given more than once", "--utc", "--utc=false") })
	}
	if l.tail > 0 {
		list = append(list, func() { wrong("--tail cannot be used", oneOf(l.rnd, "--count", "--newest", "-n3")) })
	}
	oneOf(l.rnd, list...)()
}
