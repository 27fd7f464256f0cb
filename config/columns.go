package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"logstow/columns"
	"logstow/field"
	"logstow/internal/hint"
	"logstow/internal/list"
)

// The values of columns that are not lists of names.
const (
	ColumnsAuto = "auto"
	ColumnsOff  = "off"
)

// ParseColumns returns the fields of the message that a value of columns names: none for auto and off,
// otherwise a list of at most [columns.MaxNamed] names, separated by commas, in the syntax of
// [field.ParseNames].
func ParseColumns(v string) ([]string, error) {
	if v == ColumnsAuto || v == ColumnsOff {
		return nil, nil
	}
	if strings.TrimSpace(v) == "" {
		return nil, errors.New("want auto, off or names of fields")
	}
	texts, err := list.Texts(v)
	if err != nil {
		return nil, err
	}
	names, err := field.ParseNames(texts)
	switch {
	case err != nil:
		return nil, err
	case len(names) > columns.MaxNamed:
		return nil, fmt.Errorf("%d names, at most %d allowed", len(names), columns.MaxNamed)
	}
	fields := make([]string, len(names))
	for i, n := range names {
		switch {
		case strings.EqualFold(n.Text, ColumnsAuto) || strings.EqualFold(n.Text, ColumnsOff):
			return nil, hint.Wrap(fmt.Errorf("%s: auto and off stand alone, in lower case", n.Text),
				"for a field of the message with this name write field(%s)", strconv.Quote(n.Text))
		case n.Fixed != "":
			return nil, hint.Wrap(fmt.Errorf("%s is not a field of the message", n.Text),
				"level, source and time always have columns; for a field of the message named %s write %s", n.Text, field.WriteName(n.Text))
		case !n.Step.IsZero():
			return nil, hint.Wrap(fmt.Errorf("%s is a time step", n.Text),
				"for a field of the message with this name write field(%s)", strconv.Quote(n.Text))
		case len(n.Field) > columns.MaxName:
			return nil, fmt.Errorf("a name of %d bytes, at most %d allowed", len(n.Field), columns.MaxName)
		}
		fields[i] = n.Field
	}
	return fields, nil
}
