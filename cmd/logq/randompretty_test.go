package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// prettyMessage is a message as pretty prints it: text as logged, fields of JSON as name=value.
func prettyMessage(r *stored) string {
	text, _, isObject := strings.Cut(r.message, "{")
	if !isObject || len(r.fields) == 0 || strings.Contains(r.message, "=") {
		return strings.ReplaceAll(visible(r.message), "\n", "\n    ")
	}
	line := strings.TrimSpace(text)
	blocks := ""
	for _, name := range fieldNames() {
		v, ok := r.fields[name]
		if !ok {
			continue
		}
		value := fmt.Sprint(v)
		switch v := v.(type) {
		case nil:
			value = "null"
		case string:
			if strings.Contains(v, "\n") {
				blocks += "\n    " + name + "=" + strings.ReplaceAll(v, "\n", "\n        ")
				continue
			}
			if v == "" || strings.Contains(v, " ") {
				value = `"` + v + `"`
			}
		case composite:
			if v == `{"k":1}` {
				name, value = name+".k", "1"
			}
		}
		line += " " + name + "=" + value
	}
	return strings.TrimPrefix(line, " ") + blocks
}

// flatMembers are the fields of a message as flat has them.
func flatMembers(r *stored) (members string) {
	for _, name := range fieldNames() {
		v, ok := r.fields[name]
		if !ok {
			continue
		}
		value := fmt.Sprint(v)
		switch v := v.(type) {
		case nil:
			value = "null"
		case string:
			value = quoted(v)
		case bare:
			value = quoted(string(v))
		case json.Number, bool:
		case composite:
			if v == `{"k":1}` {
				name, value = name+".k", "1"
			}
		}
		if name == "level" {
			name = "message.level"
		}
		members += "," + quoted(name) + ":" + value
	}
	return members
}
