package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/columns"
	"logstow/config"
	"logstow/internal/hint"
)

func TestParseColumns(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range columns.MaxNamed + 1 {
		many = append(many, fmt.Sprintf("f%d", i))
	}
	for text, want := range map[string][]string{
		"auto":                                  nil,
		"off":                                   nil,
		"took_ms":                               {"took_ms"},
		` took_ms , http.status,field("a, b") `: {"took_ms", "http.status", "a, b"},
		`field("auto"),field("5m"),message.level`:  {"auto", "5m", "message.level"},
		strings.Join(many[:columns.MaxNamed], ","): many[:columns.MaxNamed],
	} {
		got, err := config.ParseColumns(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string]struct{ err, hint string }{
		"":                                  {"want auto, off or names of fields", ""},
		"a,":                                {"empty item", ""},
		"a,a":                               {"named twice", ""},
		"a b":                               {"cannot contain", `field("a b")`},
		"status,level":                      {"level is not a field of the message", "message.level"},
		"instance":                          {"instance is not a field of the message", "message.instance"},
		"off,status":                        {"off: auto and off stand alone", `field("off")`},
		"status,auto":                       {"auto: auto and off stand alone", `field("auto")`},
		"OFF":                               {"stand alone, in lower case", `field("OFF")`},
		"5m":                                {"5m is a time step", `field("5m")`},
		strings.Join(many, ","):             {"33 names, at most 32 allowed", ""},
		strings.Repeat("x", 257):            {"a name of 257 bytes, at most 256 allowed", ""},
		"message.level," + `field("level")`: {"are the same", ""},
	} {
		got, err := config.ParseColumns(text)
		if err == nil || !strings.Contains(err.Error(), want.err) || !strings.Contains(fmt.Sprint(hint.All(err)), want.hint) {
			t.Errorf("%s: %v, error %v, hints %v; want %q and %q", text, got, err, hint.All(err), want.err, want.hint)
		}
	}
}

func TestColumnsOfFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                      nil,
		"columns: auto":                         nil,
		"columns: off":                          nil,
		"columns: [took_ms, 'field(\"a, b\")']": {"took_ms", "a, b"},
		"columns: took_ms,bytes":                {"took_ms", "bytes"},
	} {
		c, err := parse(text)
		if err != nil || !slices.Equal(c.Columns, want) {
			t.Errorf("%s: %q, error %v, want %q", text, c.Columns, err, want)
		}
	}
	for text, want := range map[string]string{
		"columns: [took_ms, level]": "shipper.yaml:1:10: columns: level is not a field of the message",
		"columns: []":               "columns: want auto, off or names",
		"columns: {a: b}":           "shipper.yaml:1:",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
