package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"logstow/internal/templates"
	"logstow/logql/labels"
)

// Bounds of the execution of a template.
const (
	// maxText is the length of the longest text that a template or a function makes.
	maxText = 4 << 20
	// maxWork is the number of bytes that the functions of an execution take and make altogether.
	maxWork = 64 << 20
	// maxLoops is the maximum number of iterations of all loops of an execution, maxTime their maximum total time. An
	// iteration counts for at most maxIteration, so that the result does not depend on pauses of the process; maxWork
	// bounds the work of one.
	maxLoops     = 100_000
	maxTime      = time.Second
	maxIteration = maxTime / 20
	// maxCalls is how deep templates call each other.
	maxCalls = 1000
)

var (
	errText = errors.New("the template makes a text of more than 4 MiB")
	errWork = errors.New("the template processes more than 64 MiB of text")
	errLoop = errors.New("the template iterates more than 100000 times")
	errTime = errors.New("the loops of the template take more than a second")
	errCall = errors.New("the template calls templates more than 1000 deep")
)

// Functions that count: loopFunc is called at the start of each iteration, callFunc at the start of a defined template and
// returnFunc at its end. Templates cannot call them themselves.
const (
	loopFunc   = "__loop__"
	callFunc   = "__call__"
	returnFunc = "__return__"
)

// A format is a parsed template.
type format struct {
	parts    []formatPart // nil if it needs template
	template *template.Template
	// names are the labels that it reads; all is set if it may read all.
	names []string
	all   bool
	calls bool // it executes defined templates
}

// A formatPart is a text, a label or the line.
type formatPart struct {
	text, label string
	line        bool
}

// parseFormat parses a template, which may define others.
func parseFormat(text string) (*format, error) {
	t, err := template.New("template").Option("missingkey=zero").Funcs(functions(&budget{}, nil)).Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	f := &format{template: t}
	if t.Tree == nil { // nothing but comments and definitions
		return &format{parts: []formatPart{{}}}, nil
	}
	counters, err := template.New("counters").Funcs(functions(&budget{}, nil)).Parse("{{" + loopFunc + "}}{{" + callFunc + "}}{{" + returnFunc + "}}")
	if err != nil {
		return nil, err
	}
	loop, call, ret := counters.Root.Nodes[:1], counters.Root.Nodes[1:2], counters.Root.Nodes[2:]
	for _, defined := range t.Templates() {
		templates.Walk(defined.Root, func(n parse.Node) { err = cmp.Or(err, f.visit(n, loop[0])) })
	}
	if err != nil {
		return nil, err
	}
	f.parts = simpleParts(t.Root)
	for _, defined := range t.Templates() {
		if f.calls {
			defined.Root.Nodes = slices.Concat(call, defined.Root.Nodes, ret)
		}
	}
	return f, nil
}

// simpleParts are the parts of a template of texts, labels and __line__ only, nil for others.
func simpleParts(root *parse.ListNode) []formatPart {
	parts := []formatPart{}
	for _, n := range root.Nodes {
		switch n := n.(type) {
		case *parse.CommentNode:
		case *parse.TextNode:
			parts = append(parts, formatPart{text: string(n.Text)})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			switch arg := n.Pipe.Cmds[0].Args[0].(type) {
			case *parse.FieldNode:
				if len(arg.Ident) != 1 {
					return nil
				}
				if labels.IsError(arg.Ident[0]) {
					continue
				}
				parts = append(parts, formatPart{label: arg.Ident[0]})
			case *parse.IdentifierNode:
				if arg.Ident != lineFunc {
					return nil
				}
				parts = append(parts, formatPart{line: true})
			default:
				return nil
			}
		default:
			return nil
		}
	}
	return parts
}

// visit collects the labels that a node reads, and adds loop to a loop. It fails for a function that templates cannot call.
func (f *format) visit(n parse.Node, loop parse.Node) error {
	switch n := n.(type) {
	case *parse.RangeNode:
		n.List.Nodes = slices.Insert(n.List.Nodes, 0, loop)
	case *parse.FieldNode:
		f.reads(n.Ident[0])
	case *parse.VariableNode:
		switch {
		case n.Ident[0] != "$":
		case len(n.Ident) > 1:
			f.reads(n.Ident[1])
		default:
			f.all = true
		}
	case *parse.DotNode:
		f.all = true
	case *parse.TemplateNode:
		f.calls = true
	case *parse.IdentifierNode:
		if n.Ident == loopFunc || n.Ident == callFunc || n.Ident == returnFunc {
			return fmt.Errorf("function %q not defined", n.Ident)
		}
	}
	return nil
}

// reads notes that the template reads a label. Templates do not see those of errors.
func (f *format) reads(label string) {
	if !labels.IsError(label) {
		f.names = append(f.names, label)
	}
}

// budget is the remaining budget of the execution of a template.
type budget struct {
	work, loops int
	calls       int       // how deep templates call each other
	last        time.Time // start of the last iteration
	took        time.Duration
}

// charge accounts for texts that a function takes or makes.
func (b *budget) charge(texts ...string) error {
	for _, t := range texts {
		b.work -= len(t)
	}
	if b.work < 0 {
		return errWork
	}
	return nil
}

// text accounts for a text that a function makes.
func (b *budget) text(t string) (string, error) {
	if len(t) > maxText {
		return "", errText
	}
	return t, b.charge(t)
}

// fits checks the length n·size of a text before it is made.
func (b *budget) fits(n, size int) error {
	if n > 0 && size > 0 && n > maxText/size {
		return errText
	}
	return nil
}

func (b *budget) loop() (string, error) {
	now := time.Now()
	if !b.last.IsZero() {
		b.took += min(now.Sub(b.last), maxIteration)
	}
	b.last = now
	b.loops--
	switch {
	case b.loops < 0:
		return "", errLoop
	case b.took > maxTime:
		return "", errTime
	}
	return "", nil
}

// call counts as an iteration, so that the number of calls is limited as well.
func (b *budget) call() (string, error) {
	if b.calls++; b.calls > maxCalls {
		return "", errCall
	}
	return b.loop()
}

func (b *budget) returns() string {
	b.calls--
	return ""
}

// arenaWriter appends the output of a template to the arena.
type arenaWriter struct {
	p     *Processor
	start int
}

func (w *arenaWriter) Write(b []byte) (int, error) {
	if len(w.p.arena)-w.start+len(b) > maxText {
		return 0, errText
	}
	w.p.arena = append(w.p.arena, b...)
	return len(b), nil
}

// bind makes a function that executes the template with the labels of the current record.
func (f *format) bind(p *Processor) func(p *Processor) ([]byte, error) {
	if f.parts != nil {
		return f.bindParts(p)
	}
	limits := &budget{}
	t, err := f.template.Clone()
	if err != nil {
		return func(*Processor) ([]byte, error) { return nil, err }
	}
	t.Funcs(functions(limits, p))
	data := map[string]string{}
	syms := make([]*symbol, len(f.names))
	for i, name := range f.names {
		syms[i] = p.symbol(name)
	}
	return func(p *Processor) (text []byte, err error) {
		if f.all {
			clear(data)
			for i := range p.values {
				data[p.values[i].sym.name] = p.value(p.values[i].sym)
			}
			for _, s := range p.touched {
				data[s.name] = p.value(s)
				if s.removed {
					delete(data, s.name)
				}
			}
			delete(data, labels.Error)
			delete(data, labels.ErrorDetails)
		} else {
			for _, s := range syms {
				if v := p.value(s); v != "" {
					data[s.name] = v
				} else {
					delete(data, s.name)
				}
			}
		}
		*limits = budget{work: maxWork, loops: maxLoops}
		w := arenaWriter{p, len(p.arena)}
		if err := t.Execute(&w, data); err != nil {
			p.arena = p.arena[:w.start]
			return nil, fmt.Errorf("%.500s", strings.TrimPrefix(err.Error(), "template: "))
		}
		return slices.Clip(p.arena[w.start:]), nil
	}
}

func (f *format) bindParts(p *Processor) func(p *Processor) ([]byte, error) {
	syms := make([]*symbol, len(f.parts))
	for i, part := range f.parts {
		if part.label != "" {
			syms[i] = p.symbol(part.label)
		}
	}
	return func(p *Processor) ([]byte, error) {
		start := len(p.arena)
		for i, part := range f.parts {
			switch {
			case syms[i] != nil:
				p.arena = p.appendValue(p.arena, syms[i])
			case part.line:
				p.arena = append(p.arena, p.line...)
			default:
				p.arena = append(p.arena, part.text...)
			}
			if len(p.arena)-start > maxText {
				p.arena = p.arena[:start]
				return nil, errText
			}
		}
		return slices.Clip(p.arena[start:]), nil
	}
}
