package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"logstow/internal/units"
)

// ordering is an item of --sort.
type ordering struct {
	name string
	desc bool
}

// orderNames are names for --sort and --distinct.
func orderNames() []string {
	return []string{
		"time", "level", "service", "source", "instance", "message", "status", "user", "id", "took", "http.method", "ok", "tags", `field("a,b")`,
		`field("level")`, "message.source", "nosuch",
	}
}

// randomOrder requests an order or values now and then; it reports whether --tail and --newest cannot be given.
func (l *commandLine) randomOrder() bool {
	if l.fields == nil && !l.count && l.rnd.IntN(6) == 0 {
		l.distinct = oneOf(l.rnd, orderNames()...)
		l.flag("distinct", l.distinct)
	} else if l.rnd.IntN(4) > 0 {
		return false
	} else {
		var items []string
		for range 1 + l.rnd.IntN(3) {
			o := ordering{name: oneOf(l.rnd, orderNames()...)}
			if slices.ContainsFunc(l.order, func(p ordering) bool { return p.name == o.name }) {
				continue
			}
			direction := oneOf(l.rnd, "", " asc", " desc", "  DESC")
			o.desc = strings.HasSuffix(strings.ToLower(direction), "desc")
			l.order, items = append(l.order, o), append(items, o.name+direction)
		}
		l.flag("sort", strings.Join(items, oneOf(l.rnd, ",", ", ")))
	}
	if l.rnd.IntN(2) == 0 {
		l.limit = 1 + l.rnd.IntN(20)
		l.flag("limit", strconv.Itoa(l.limit))
	}
	if l.rnd.IntN(3) == 0 {
		l.flag("memory", oneOf(l.rnd, "1", "64KiB", "1GiB"))
	}
	return true
}

// randomIDs writes a file of identifiers now and then.
func (l *commandLine) randomIDs() {
	if l.rnd.IntN(6) > 0 {
		return
	}
	var file strings.Builder
	for range 1 + l.rnd.IntN(6) {
		id := oneOf(l.rnd, "order-12345", "order-12345", "ORDER-12345", "order-123456", "10.0.0.7", "a1b2c3d4e5", "12345", "bob", "5", "Zoë", `"ok":true`, "--", "order-12345-6", "absent-1234567")
		l.ids = append(l.ids, id)
		fmt.Fprintf(&file, "%s%s%s", oneOf(l.rnd, "", " ", "\t"), id, oneOf(l.rnd, "\n", "\r\n", " \n\n"))
	}
	path := filepath.Join(l.w.dirs[1], fmt.Sprintf("ids-%d", l.rnd.Uint64()))
	if err := os.WriteFile(path, []byte(strings.TrimRight(file.String(), oneOf(l.rnd, "", "\n"))), 0o600); err != nil {
		panic(err)
	}
	l.flag("ids-from", path)
}

// sort puts records into the order of --sort.
func (a *asked) sort(found []*stored) {
	slices.SortStableFunc(found, func(r, s *stored) int {
		for _, o := range a.order {
			if c := o.compare(o.value(r), o.value(s)); c != 0 {
				return c
			}
		}
		return 0
	})
}

// value is what a record is sorted by: nil if it is missing.
func (o ordering) value(r *stored) any {
	if o.name == "level" {
		i := slices.Index([]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}, r.level)
		if i < 0 {
			return nil
		}
		return json.Number(strconv.Itoa(i))
	}
	v, _ := column(r, r.at.UTC().Format("2006-01-02T15:04:05.000000000Z"), o.name)
	return v
}

// compare orders two values: numbers, then texts, then nothing; each class in either direction.
func (o ordering) compare(v, w any) int {
	class := func(v any) int {
		switch {
		case v == nil:
			return 2
		case number(v) != nil:
			return 0
		}
		return 1
	}
	c := 0
	switch p, q := class(v), class(w); {
	case p != q:
		return p - q
	case p == 0:
		c = number(v).Cmp(number(w))
	case p == 1:
		c = strings.Compare(fmt.Sprint(v), fmt.Sprint(w))
	}
	if o.desc {
		return -c
	}
	return c
}

// values prints the different values of records, and returns the exit status.
func (a *asked) values(found []*stored) (string, int) {
	counts, typed := map[string]int{}, map[string]any{}
	a.has = map[string]any{}
	for _, r := range found {
		maps.Copy(a.has, r.fields)
		v, _ := column(r, r.at.UTC().Format("2006-01-02T15:04:05.000000000Z"), a.distinct)
		if v == nil || a.distinct == "level" && v == "-" {
			continue
		}
		text := fmt.Sprint(v)
		counts[text]++
		if _, isString := typed[text].(string); !isString {
			typed[text] = v
		}
	}
	missing := len(found)
	for _, n := range counts {
		missing -= n
	}
	if missing > 0 {
		a.left = fmt.Sprintf("logq: left out %d of %s, without %s\n", missing, units.Count(len(found), "record"), a.distinct)
	}
	texts := slices.Sorted(maps.Keys(counts))
	if a.limit > 0 {
		texts = texts[:min(len(texts), a.limit)]
	}
	var out strings.Builder
	table := [][]string{{"value", "count"}}
	for _, text := range texts {
		switch a.format {
		case "json", "flat":
			shown := quoted(text)
			if canonical(text) && a.bareValue(typed[text]) {
				shown = text
			}
			fmt.Fprintf(&out, "{\"value\":%s,\"count\":%d}\n", shown, counts[text])
		case "csv":
			table = append(table, []string{text, strconv.Itoa(counts[text])})
		default:
			out.WriteString(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) + "\n")
		}
	}
	status := 0
	if len(texts) == 0 {
		status = 1
	}
	if a.format == "csv" {
		return tableText(table), status
	}
	return out.String(), status
}

// bareValue reports whether a value is a number or a boolean.
func (a *asked) bareValue(v any) bool {
	_, truth := asBool(v)
	return truth || number(v) != nil
}

// canonical reports whether a text is written as JSON output writes numbers and truth values.
func canonical(text string) bool {
	return !strings.ContainsAny(text, "eE") && !strings.HasPrefix(text, "-0") || text == "true" || text == "false"
}
