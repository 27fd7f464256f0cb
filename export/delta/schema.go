package delta

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Field is a column of a table.
type Field struct {
	Name string `json:"name"`
	// Type is a primitive type as a JSON string, such as "timestamp", or an object.
	Type     json.RawMessage `json:"type"`
	Nullable bool            `json:"nullable"`
	Metadata json.RawMessage `json:"metadata"`
}

// Primitive returns a field of a primitive type: string, long, double, date, timestamp.
func Primitive(name, kind string, nullable bool) Field {
	return Field{Name: name, Type: json.RawMessage(`"` + kind + `"`), Nullable: nullable, Metadata: json.RawMessage(`{}`)}
}

// StringMap returns a nullable field that is a map of strings, which may be null, by strings.
func StringMap(name string) Field {
	return Field{
		Name: name, Nullable: true, Metadata: json.RawMessage(`{}`),
		Type: json.RawMessage(`{"type":"map","keyType":"string","valueType":"string","valueContainsNull":true}`),
	}
}

type schema struct {
	Type   string  `json:"type"`
	Fields []Field `json:"fields"`
}

// EncodeSchema returns the form of fields in [Metadata].
func EncodeSchema(fields []Field) (string, error) {
	text, err := json.Marshal(schema{"struct", fields})
	if err != nil {
		return "", fmt.Errorf("cannot encode the schema: %w", err)
	}
	return string(text), nil
}

// DecodeSchema returns the fields of a table.
func DecodeSchema(text string) ([]Field, error) {
	var s schema
	err := json.Unmarshal([]byte(text), &s)
	if err == nil && s.Type != "struct" {
		err = errors.New("it is no struct")
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the table is not valid: %w", err)
	}
	return s.Fields, nil
}

// CleanName returns a name that a column may have: each of " ,;{}()\n\t=" becomes '_', as these may not be in the names of columns of
// Parquet, and so does what is not UTF-8.
func CleanName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,;{}()\n\t=", r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
}
