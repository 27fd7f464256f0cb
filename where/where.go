// Package where compiles --where: an expression over the fields of a record, in
// the language of github.com/expr-lang/expr.
//
// A name is a field of the message (see package field), or one of the columns:
// time, level, source, service. Names with other than letters, digits, _ and dots
// are written field("http-status"). message is the field of that name or, where
// there is none, the whole message.
//
// A field that is missing or null equals nil and nothing else. A comparison that
// can not be made, with a field that is missing or of another type, is false; an
// operation on it makes the record no match. A logfmt value without quotes is a
// number and a string. level compares by severity (level >= "warn"), time as a time.
//
// Comparisons with constants, and, or, not, in, contains, startsWith, endsWith and
// matches are compiled here; what else there is runs in expr's own machine.
package where

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"logstow/record"
)

// Record is what an expression looks at.
type Record struct {
	Time    int64 // Unix nanoseconds
	Level   record.Level
	Service string
	Source  []byte
	Message []byte
}

// Program is a compiled expression. It does not change and may be shared.
type Program struct {
	source   string
	now      time.Time
	tree     *parser.Tree
	required []string // see Required
	groups   [][]Text // see Groups
	timed    bool
}

// Compile compiles an expression. Times in it that are relative are so to now.
func Compile(source string, now time.Time) (*Program, error) {
	tree, err := parser.Parse(source)
	if err != nil {
		return nil, explain(err)
	}
	p := &Program{source: source, now: now, tree: tree}
	c := &compiler{now: now}
	if _, err := p.compile(c); err != nil {
		return nil, explain(err)
	}
	p.timed = c.timed
	p.require(tree.Node)
	p.groups = groups(tree.Node)
	return p, nil
}

// explain makes a mistake a text of one line, with its place.
func explain(err error) error {
	var at *file.Error
	if errors.As(err, &at) {
		return fmt.Errorf("%s (at character %d)", strings.TrimSpace(at.Message), at.Column+1)
	}
	return err
}

// Evaluator evaluates a Program. It is for one goroutine.
type Evaluator struct {
	holds func(*Record) bool
}

// Evaluator makes one. An error would be one of Compile.
func (p *Program) Evaluator() (*Evaluator, error) { return p.compile(&compiler{now: p.now}) }

// Holds reports whether the expression holds for a record.
func (e *Evaluator) Holds(r *Record) bool { return e.holds(r) }

// Timed reports whether the expression looks at records' times; else Record.Time may be left out.
func (p *Program) Timed() bool { return p.timed }

func (p *Program) compile(c *compiler) (*Evaluator, error) {
	// The compiler changes what it gives to the machine, so it gets its own tree.
	tree, err := parser.Parse(p.source)
	if err != nil {
		return nil, err
	}
	holds := c.truth(tree.Node)
	if c.err != nil {
		return nil, c.err
	}
	return &Evaluator{holds}, nil
}

// Required are texts that the message of every record which matches holds, unless
// it holds a \u escape of JSON.
func (p *Program) Required() []string { return p.required }

// require gathers what a node that has to hold requires.
func (p *Program) require(node ast.Node) {
	b, ok := node.(*ast.BinaryNode)
	if !ok {
		return
	}
	if b.Operator == "and" || b.Operator == "&&" {
		p.require(b.Left)
		p.require(b.Right)
		return
	}
	name, constant, ok := fieldAndConstant(b)
	if !ok {
		return
	}
	switch b.Operator {
	case "==", "<", "<=", ">", ">=", "contains", "startsWith", "endsWith", "matches":
	default:
		return
	}
	var text string
	switch c := constant.(type) {
	case *ast.StringNode:
		text = c.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.UnaryNode:
	default:
		return
	}
	key := name[strings.LastIndexByte(name, '.')+1:]
	if verbatim(key) && name != messageName {
		p.required = append(p.required, key)
	}
	switch b.Operator {
	case "==":
		if verbatim(text) {
			p.required = append(p.required, text)
		}
	case "contains", "startsWith", "endsWith":
		if verbatim(text) && constant == b.Right {
			p.required = append(p.required, text)
		}
	}
}

// fieldAndConstant are the two sides of a comparison of a field of the message.
func fieldAndConstant(b *ast.BinaryNode) (name string, constant ast.Node, ok bool) {
	name, ok = fieldName(b.Left)
	constant = b.Right
	if !ok {
		name, ok = fieldName(b.Right)
		constant = b.Left
	}
	return name, constant, ok && !isColumn(name)
}

// verbatim reports whether text stands in a message as it is, whatever writes it
// as a string, unless with \u escapes.
func verbatim(text string) bool {
	return text != "" && bytes.IndexFunc([]byte(text), func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '/' || r == 0x7f || r == '\uFFFD'
	}) < 0
}
