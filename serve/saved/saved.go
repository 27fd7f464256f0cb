// Package saved reads files of saved queries, which all users of a server share.
package saved

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"logstow/internal/hint"
	"logstow/internal/limited"
	"logstow/internal/reread"
	"logstow/internal/units"
	"logstow/logql/syntax"
)

// maxName is the maximum length of a name, in characters.
const maxName = 100

// maxQueries is the maximum number of queries of a file.
const maxQueries = 1000

// Query is a saved query.
type Query struct {
	// Name is unique in its file.
	Name string `json:"name" yaml:"name"`
	// Query is LogQL.
	Query string `json:"query" yaml:"query"`
	// Range is the length of the range before now, such as 2h; empty is that of the reader.
	Range string `json:"range,omitempty" yaml:"range"`
	// Columns are fields that the web UI shows beside the message.
	Columns []string `json:"columns,omitempty" yaml:"columns"`
	// Link is the fragment of the web UI's address, with all that it shows. If it is not empty, the web UI uses it in place of the others.
	Link string `json:"link,omitempty" yaml:"link"`
}

// File is a file of saved queries: YAML, or JSON, with a list of queries. It is read again when it changes; a version that is not
// valid is ignored while there is an earlier one.
func File(path string) *reread.File[[]Query] { return reread.New(path, Parse) }

// Parse parses the text of a file.
func Parse(text []byte) ([]Query, error) {
	const advice = "write queries: and a list of name, query, range and columns; docs/serve.md has an example"
	var content struct {
		Queries []Query `yaml:"queries"`
	}
	if line, err := limited.YAML(text); err != nil {
		return nil, hint.Wrap(fmt.Errorf("not a list of queries: line %d: %w", line, err), advice)
	}
	if err := yaml.UnmarshalWithOptions(text, &content, yaml.Strict()); err != nil {
		return nil, hint.Wrap(fmt.Errorf("not a list of queries: %s", yaml.FormatError(err, false, false)), advice)
	}
	switch n := len(content.Queries); {
	case n == 0:
		return nil, hint.Wrap(errors.New("no queries"), advice)
	case n > maxQueries:
		return nil, fmt.Errorf("%d queries, more than %d", n, maxQueries)
	}
	for i, q := range content.Queries {
		if !validName(q.Name) {
			return nil, fmt.Errorf("query %d: its name is not 1 to %d printable characters", i+1, maxName)
		}
		if slices.ContainsFunc(content.Queries[:i], func(other Query) bool { return other.Name == q.Name }) {
			return nil, fmt.Errorf("query %q: the name is used twice", q.Name)
		}
		if err := q.check(); err != nil {
			return nil, fmt.Errorf("query %q: %w", q.Name, err)
		}
	}
	return content.Queries, nil
}

func validName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (q *Query) check() error {
	if _, err := syntax.Parse(q.Query); err != nil {
		return err
	}
	if q.Range != "" {
		if _, err := units.ParseDuration(q.Range); err != nil {
			return fmt.Errorf("range: %w", err)
		}
	}
	if slices.Contains(q.Columns, "") {
		return errors.New("columns: a name is empty")
	}
	if q.Link != "" && !strings.HasPrefix(q.Link, "#") {
		return hint.Wrap(errors.New("link is not a fragment"), "write what follows # in the address of the web UI, and the #")
	}
	return nil
}
