// Package where compiles --where: an expression over the fields of a record, in the syntax of
// github.com/expr-lang/expr, with the semantics in docs/where.md.
//
// A name is a field of the message (see package message/parse), or one of the columns time, level, service, source and instance. A field
// whose name has other characters than letters, digits, _ and dots, or is that of a column, is written field("http-status"). A field is an
// attribute or, if there is none of the name, a field of the message; attribute("http-status") and attribute.status are attributes only,
// message.status is a field of the message only. message is the field of that name, or the whole message if there is none.
//
// Logic is three-valued, as in SQL: an operation on a field that is missing, or has a type that the operation does not support, is
// unknown; so is "not" of it. A record matches if the expression is true, not if it is unknown. Numbers of any length compare exactly
// (see [message.Compare]). level compares by severity (level >= "warn"), time by time.
package where

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// Record is the input of an expression.
type Record struct {
	Time     int64 // Unix nanoseconds
	Level    record.Level
	Service  string
	Source   []byte
	Instance string
	// Attributes are those of package attributes, Message the message as logged.
	Attributes, Message []byte
	// Fields are the values of the fields of Attributes and Message; First is the index of the first field of the [Program]. Nil Fields are
	// found by [parse.Auto].
	Fields Fields
	First  int
}

// AppendFixed appends the text of a fixed field.
func (r *Record) AppendFixed(dst []byte, f field.Fixed) []byte {
	switch f {
	case field.Time:
		return record.AppendTime(dst, r.Time)
	case field.Level:
		return append(dst, r.Level.String()...)
	case field.Service:
		return append(dst, r.Service...)
	case field.Source:
		return append(dst, r.Source...)
	case field.Instance:
		return append(dst, r.Instance...)
	}
	return append(dst, r.Message...)
}

// Fields returns values of fields by index. A value is valid as long as the record.
type Fields interface {
	Value(i int) message.Value
}

// Program is a compiled expression. It is immutable and may be shared.
type Program struct {
	now      time.Time
	tree     *parser.Tree
	literals map[int]string // see hideLiterals
	fields   []string       // see Fields
	bounds   []Bound
	columns  columnSet
	// operands has, for each field, how often its value is an operand, comparisons has those with numbers.
	operands    map[int]int
	comparisons map[int][]Bound
}

// Compile compiles an expression. Relative times are relative to now. An error names the position,
// and may carry a hint.
func Compile(source string, now time.Time) (*Program, error) {
	// The parser cannot represent all numbers: it gets placeholders of the same length.
	parsed, literals := hideLiterals(source)
	tree, err := parser.Parse(parsed)
	if err != nil {
		return nil, explain(err, parsed, literals)
	}
	p := &Program{now: now, tree: tree, literals: literals}
	c := p.compiler()
	if c.match(tree.Node); c.err != nil {
		return nil, c.err
	}
	p.columns = c.columns
	p.operands = maps.Clone(c.operands) // what follows compiles parts again
	p.bounds, p.comparisons = c.bounds(tree.Node, false), map[int][]Bound{}
	for _, b := range c.bounds(tree.Node, true) {
		p.comparisons[b.Field] = append(p.comparisons[b.Field], b)
	}
	p.fields = c.fields
	return p, nil
}

// CompileUntimed compiles an expression for records as they arrive, which cannot use their times: relative ones would be relative to the
// start of the program.
func CompileUntimed(source string) (*Program, error) {
	p, err := Compile(source, time.Time{})
	if err == nil && p.Timed() {
		return nil, hint.Wrap(errors.New("time cannot be used"), "for a field of the message named time write message.time")
	}
	return p, err
}

// explain formats an error of the parser in one line, with its position, and a hint if there is one.
func explain(err error, parsed string, literals map[int]string) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return err
	}
	message := strings.TrimSpace(at.Message)
	for _, literal := range literals {
		message = strings.ReplaceAll(message, placeholder(utf8.RuneCountInString(literal)), literal)
	}
	message = strings.Replace(message, "unexpected token EOF", "unexpected end", 1)
	message = regexp.MustCompile(`^unexpected token \w+\((".*")\)`).ReplaceAllString(message, "unexpected $1")
	err = fmt.Errorf("%s (at character %d)", message, at.From+1)
	if strings.HasPrefix(message, "unexpected end") { // the place is the last character, which is right
		return err
	}
	if instead := meant([]rune(parsed), at.From); instead != "" {
		return hint.Wrap(err, "%s", instead)
	}
	return err
}

// Evaluator evaluates a Program. Not safe for concurrent use.
type Evaluator struct {
	matches func(*Record) bool
	fields  []string
	auto    *parse.Splitter // for records without Fields
}

// Evaluator makes an Evaluator.
func (p *Program) Evaluator() *Evaluator {
	return &Evaluator{matches: p.compiler().match(p.tree.Node), fields: p.fields} // without an error, since there was none before
}

// Holds reports whether the expression is true for a record.
func (e *Evaluator) Holds(r *Record) bool {
	if r.Fields != nil {
		return e.matches(r)
	}
	if e.auto == nil {
		e.auto = parse.Auto().Splitter(e.fields...)
	}
	e.auto.Split(r.Attributes, r.Message)
	auto := *r
	auto.Fields, auto.First = e.auto, 0
	return e.matches(&auto)
}

// Timed reports whether the expression uses records' times; otherwise Record.Time may be omitted.
func (p *Program) Timed() bool { return p.columns.has(timeName) }

// Sourced reports whether the expression uses records' sources.
func (p *Program) Sourced() bool { return p.columns.has(sourceName) }

// Leveled reports whether the expression uses records' levels.
func (p *Program) Leveled() bool { return p.columns.has(levelName) }

// Instanced reports whether the expression uses records' instances.
func (p *Program) Instanced() bool { return p.columns.has(instanceName) }

// FieldsOnly reports whether the expression uses only fields of the message, not the message itself.
func (p *Program) FieldsOnly() bool { return !slices.Contains(p.fields, messageName) }

// LevelOnly reports whether the expression uses only level, service and instance of a record.
func (p *Program) LevelOnly() bool { return len(p.fields) == 0 && !p.Timed() && !p.Sourced() }

// Fields returns the distinct names of the message fields that the expression uses.
func (p *Program) Fields() []string { return slices.Clone(p.fields) }

func (p *Program) compiler() *compiler {
	return &compiler{now: p.now, literals: p.literals, variables: map[string]*variable{}, operands: map[int]int{}}
}

// match compiles a condition for which false and unknown need not be distinguished: "and" need not evaluate its right side if the left
// one is unknown.
func (c *compiler) match(node ast.Node) func(*Record) bool {
	if b, ok := node.(*ast.BinaryNode); ok {
		switch b.Operator {
		case "and", "&&":
			left, right := c.match(b.Left), c.match(b.Right)
			return func(r *Record) bool { return left(r) && right(r) }
		case "or", "||":
			left, right := c.match(b.Left), c.match(b.Right)
			return func(r *Record) bool { return left(r) || right(r) }
		}
	}
	holds := c.condition(node)
	return func(r *Record) bool { return holds(r) == yes }
}
