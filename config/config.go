// Package config reads and validates the shipper's configuration file, which is YAML. It reports all
// problems at once, each with its position. docs/configuration.md describes the keys.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"logstow/input"
	"logstow/input/container"
	"logstow/input/listen"
	"logstow/input/multiline"
	"logstow/internal/hint"
	"logstow/internal/limited"
	"logstow/process"
	"logstow/record/recognize"
)

// Config is the content of a file. Settings whose keys are missing have their defaults.
type Config struct {
	Settings
	// Memory is set if the buffer is in memory.
	Memory bool
	// Stores are the stores that segments are written to. If there are several, one is chosen for each new
	// segment.
	Stores []string
	Inputs []Input
	// Addresses are those of the inputs.
	Addresses Addresses
}

// Input configures one input.
type Input struct {
	Common
	// Spec has the keys of the kind of the input. Inputs that differ in their address alone share it.
	input.Spec
	// Endpoint and TimeFrom are set for inputs that listen.
	listen.Endpoint
	TimeFrom input.TimeFrom
	// FromStart reads what exists at the first start, for inputs with positions. MaxOpen is the maximum number of open files.
	FromStart bool
	MaxOpen   int
	// Stores are the stores for this input's service. If it is empty, they are Config.Stores.
	Stores []string
	// Line is its line in the file.
	Line int
}

// String describes an input by its kind and its files or address.
func (in *Input) String() string {
	switch kind := in.Kind(); {
	case kind.Files:
		return kind.Name + " " + strings.Join(kind.Paths, " ")
	case kind.CheckAddress != nil:
		return kind.Name + " at " + in.Address
	default:
		return kind.Name
	}
}

// Common holds the keys that all inputs have. At the top of the file they are the defaults for all inputs.
type Common struct {
	// Service is a name or, for files, a pattern such as {namespace}.{container}.
	Service, Class, SourcePrefix string
	// Parse is the parser of the messages, in the form of the footer of a segment, which is "" for auto.
	Parse     string
	MaxRecord int64
	MaxAhead  time.Duration
	Zone      *time.Location
	// DayFirst reads 10/11/2026 as a day of November.
	DayFirst bool
	// Rules find timestamps and levels that are not recognized automatically.
	Rules     recognize.RuleOptions
	Format    container.Format
	Multiline *multiline.Options
	// Process configures the processing of records; Stats and runtime fields are not set.
	Process process.Options
}

// Problem is an error in a file.
type Problem struct {
	File         string
	Line, Column int
	Text         string
}

// Error returns FILE:LINE:COLUMN: TEXT, or FILE: TEXT if the position is unknown.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Read reads a file. lookup looks up environment variables, like [os.LookupEnv]. The error lists all
// problems, one per line.
func Read(path string, lookup func(string) (string, bool)) (*Config, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration file %s not found", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, data, lookup, readFile)
}

// maxFile is the maximum size of a file that is read, in bytes: parsing takes several times as much memory.
const maxFile = 1 << 20

func readFile(path string) ([]byte, error) { return limited.File(path, maxFile) }

// Parse parses the content of a file. name is the name of the file in errors. readFile reads the files that
// ${file:PATH} names.
func Parse(name string, data []byte, lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (*Config, error) {
	d := &decoder{file: name, getenv: lookup, readFile: readFile, anchors: map[string]ast.Node{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, hint.Wrap(Problem{File: name, Text: "the file is not UTF-8 text"}, "save it with the encoding UTF-8")
	}
	if line, err := limited.YAML(data); err != nil {
		return nil, Problem{File: name, Line: line, Column: 1, Text: err.Error()}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := Problem{File: name, Text: err.Error()}
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			p.Text = syntax.GetMessage()
			if tk := syntax.GetToken(); tk != nil && tk.Position != nil {
				p.Line, p.Column = tk.Position.Line, tk.Position.Column
			}
		}
		if isIndentedByTab(data, p.Line) {
			return nil, hint.Wrap(p, "indent line %d with spaces: YAML forbids tabs for indentation", p.Line)
		}
		return nil, p
	}
	var body ast.Node
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			d.fail(doc.Body, "the file may have only one document")
		}
		if i == 0 {
			body = doc.Body
		}
	}
	c := d.config(d.section(body))
	if len(d.problems) == 0 {
		return c, nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	errs := make([]error, 0, len(d.problems))
	for _, p := range d.problems {
		p.Text = strings.ReplaceAll(p.Text, "\n", " ")
		errs = append(errs, p)
	}
	return nil, errors.Join(errs...)
}

// isIndentedByTab reports whether the indentation of a line contains a tab. The number of the first line is 1.
func isIndentedByTab(data []byte, line int) bool {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	return bytes.Contains(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], []byte("\t"))
}
