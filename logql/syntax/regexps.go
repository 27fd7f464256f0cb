package syntax

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// maxInstructions limits the regular expressions of a query, compiled: about 40 bytes each. Without repetitions such as
// x{1000}, a query of [maxLength] has fewer.
const maxInstructions = 256 << 10

// RegexpInstructions estimates the number of instructions of a compiled regular expression. Repetitions make it many
// times the length of the text.
func RegexpInstructions(expr string) (int, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(tree), nil
}

func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
		return n
	case syntax.OpAlternate:
		return n + len(re.Sub) - 1
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCapture:
		return n + 2
	case syntax.OpRepeat: // Max is -1 for x{5,}
		return max(1, n*re.Min+1, n*re.Max+re.Max-re.Min)
	}
	return n + 1
}

// regexpCause is an error of a regular expression without the prefix that names the package.
func regexpCause(err error) string {
	var cause *syntax.Error
	if errors.As(err, &cause) {
		return cause.Code.String() + ": " + cause.Expr
	}
	return err.Error()
}

// anchored compiles a regular expression that matches whole values.
func (p *parser) anchored(t token) *regexp.Regexp {
	if p.compile(t) == nil {
		return nil
	}
	return p.compileAs(t, "^(?:"+t.text+")$")
}

func (p *parser) compile(t token) *regexp.Regexp { return p.compileAs(t, t.text) }

func (p *parser) compileAs(t token, expr string) *regexp.Regexp {
	n, err := RegexpInstructions(expr)
	if p.instructions += n; err == nil && p.instructions > maxInstructions {
		p.fail(t, "regular expressions of the query are too large: use fewer repetitions such as x{1000}")
		return nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		p.fail(t, "invalid regular expression: %s", regexpCause(err))
		return nil
	}
	return re
}
