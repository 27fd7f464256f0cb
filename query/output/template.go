package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"github.com/itchyny/timefmt-go"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/suggest"
	"logstow/internal/templates"
	"logstow/query"
	"logstow/record/attributes"
)

// MaxTemplate is the maximum length of a template in bytes.
const MaxTemplate = 4096

// RecordTemplate is a template for records, made by [CompileTemplate].
type RecordTemplate struct {
	parsed *template.Template
	values map[string]string // of the current record, by name
	names  []string          // of the fields of the message that the template has
	match  *query.Match
	writer *Writer
	out    bytes.Buffer
}

// CompileTemplate compiles a template in the syntax of package text/template:
//
//	{{.time}} {{.level}} {{.message}}       the fixed fields: also service, source, instance
//	{{.status}} {{.http.method}}            attributes or fields of the message; empty if it has none of the name
//	{{field "user-agent"}}                  the same, of any name, also of a fixed field
//	{{attribute "user-agent"}}              an attribute only
//	{{time "%H:%M:%S"}}                     the time by a format of strftime
//	{{json .user}}                          a value as a JSON string
//
// All values are strings. An error names the character at which the mistake is, counted from 1. The result
// is for one [Writer].
func CompileTemplate(text string) (*RecordTemplate, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("template of %d bytes, at most %d allowed", len(text), MaxTemplate)
	}
	t := &RecordTemplate{values: map[string]string{}}
	parsed, err := t.parse(text)
	if err != nil {
		return nil, t.placed(text, err)
	}
	t.parsed = parsed
	for _, defined := range parsed.Templates() {
		templates.Walk(defined.Root, t.visit)
	}
	// A function with a wrong argument fails for any record.
	if err := t.run(); err != nil {
		return nil, t.placed(text, err)
	}
	return t, nil
}

func (t *RecordTemplate) parse(text string) (*template.Template, error) {
	return template.New("template").Option("missingkey=zero").Funcs(template.FuncMap{
		"field":     t.field,
		"attribute": t.attribute,
		"time":      t.time,
		"json":      func(s string) string { return string(jsonlines.AppendString(nil, []byte(s))) },
	}).Parse(text)
}

// functionNames are the functions of templates: Logstow's and Go's.
func functionNames() []string {
	return []string{
		"field", "attribute", "time", "json", "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or",
		"print", "printf", "println", "slice", "urlquery",
	}
}

// placed is an error with the character of its place. Parsing reports none: the shortest beginning of the
// template that has the same mistake ends there.
func (t *RecordTemplate) placed(text string, err error) error {
	place := regexp.MustCompile(`^template: template:(\d+:)?(\d+:)? (executing "template" at )?`).FindStringSubmatch(err.Error())
	if place == nil {
		return err
	}
	at := 0
	if exec := (template.ExecError{}); errors.As(err, &exec) {
		for line, _ := strconv.Atoi(strings.TrimSuffix(place[1], ":")); line > 1; line-- {
			at += strings.IndexByte(text[at:], '\n') + 1
		}
		column, _ := strconv.Atoi(strings.TrimSuffix(place[2], ":"))
		at = utf8.RuneCountInString(text[:min(at+column+1, len(text))])
	} else {
		for i := range text + " " {
			if _, shorter := t.parse(text[:i]); shorter != nil && shorter.Error() == err.Error() {
				break
			}
			at++
		}
	}
	err = fmt.Errorf("%s (at character %d)", err.Error()[len(place[0]):], at)
	if unknown := regexp.MustCompile(`^function "(\w+)" not defined`).FindStringSubmatch(err.Error()); unknown != nil {
		return hint.Wrap(err, "%s", cmp.Or(suggest.DidYouMean(unknown[1], functionNames()), "write a field as {{."+unknown[1]+"}}"))
	}
	return err
}

// visit finds the fields that are named, and makes a name with dots one name.
func (t *RecordTemplate) visit(node parse.Node) {
	switch n := node.(type) {
	case *parse.CommandNode:
		t.call(n)
	case *parse.FieldNode:
		n.Ident = []string{strings.Join(n.Ident, ".")}
		t.name(n.Ident[0])
	case *parse.VariableNode: // $.name is a field, too
		if len(n.Ident) > 1 && n.Ident[0] == "$" {
			n.Ident = []string{"$", strings.Join(n.Ident[1:], ".")}
			t.name(n.Ident[1])
		}
	}
}

// call finds the name in {{field "name"}} and {{attribute "name"}}.
func (t *RecordTemplate) call(n *parse.CommandNode) {
	f, ok := n.Args[0].(*parse.IdentifierNode)
	if !ok || len(n.Args) != 2 {
		return
	}
	prefix, isField := field.CallPrefix(f.Ident)
	if name, ok := n.Args[1].(*parse.StringNode); ok && isField {
		t.add(prefix + name.Text)
	}
}

// name adds the field that {{.name}} refers to.
func (t *RecordTemplate) name(name string) {
	if !field.IsFixed(name) {
		t.add(name)
	}
}

// add adds a field of the message to the fields to find.
func (t *RecordTemplate) add(name string) {
	if !slices.Contains(t.names, name) {
		t.names = append(t.names, name)
	}
}

// begin binds the template to a Writer.
func (t *RecordTemplate) begin(o *Writer) {
	t.writer, o.fields = o, t.names
}

// field is the value of a field of the message.
func (t *RecordTemplate) field(name string) string {
	if t.match == nil {
		return ""
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return t.visible(t.writer.splitter.Value(i).Text)
	}
	// A name that the template computes may be another one in each record.
	computed := t.writer.opts.Parser(t.match.Segment).Splitter(name)
	computed.Split(t.match.Attributes(), t.writer.message)
	return t.visible(computed.Value(0).Text)
}

// attribute is the value of an attribute.
func (t *RecordTemplate) attribute(name string) string { return t.field(attributes.Prefix + name) }

// time is the time of the record by a format of strftime.
func (t *RecordTemplate) time(format string) string {
	if t.match == nil {
		return ""
	}
	return timefmt.Format(time.Unix(0, t.match.Time).In(t.writer.opts.Zone), format)
}

// visible returns a value as printed.
func (t *RecordTemplate) visible(value []byte) string {
	if t.writer.opts.Terminal && !plain(value) {
		return string(appendVisible(nil, value))
	}
	return string(value)
}

// run executes the template on the values.
func (t *RecordTemplate) run() error {
	t.out.Reset()
	return t.parsed.Execute(&t.out, t.values)
}

// template appends the result of the template for a record.
func (o *Writer) template(dst []byte, m *query.Match) []byte {
	t := o.opts.Template
	t.match = m
	o.message.Decode(m.Message())
	for _, f := range field.AllFixed() {
		t.values[string(f)] = t.visible(o.fixed(f, m))
	}
	o.splitFields(m)
	for i, name := range t.names {
		if !field.IsFixed(name) { // {{.time}} is the fixed field, whatever {{field "time"}} is
			t.values[name] = t.visible(o.splitter.Value(i).Text)
		}
	}
	if err := t.run(); err != nil {
		o.err = fmt.Errorf("cannot print a record: %w", err)
	}
	return append(append(dst, t.out.Bytes()...), '\n')
}
