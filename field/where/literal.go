package where

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"

	"logstow/field"
)

// hideLiterals returns the source with every number written in a way that the parser takes, and of the
// same length, so that places stay what they are; and the numbers by their place, in characters. The
// parser refuses whole numbers of more than 63 bits and rounds decimals.
func hideLiterals(source string) (parsed string, literals map[int]string) {
	tokens, err := lexer.Lex(file.NewSource(source))
	if err != nil {
		return source, nil // the parser finds it too
	}
	literals = map[int]string{}
	text := []rune(source)
	for _, token := range tokens {
		from, to := token.From, token.To
		if token.Kind != lexer.Number || to > len(text) {
			continue
		}
		literal := string(text[from:to])
		if _, ok := parseLiteral(literal); ok {
			literals[from] = literal
			copy(text[from:to], []rune(standIn(literal)))
		}
	}
	return string(text), literals
}

// standIn is a number of the same length that the parser takes: 1, 10, 1.0, 1.00, …
func standIn(literal string) string {
	switch n := len(literal); n {
	case 1:
		return "1"
	case 2:
		return "10"
	default:
		return "1." + strings.Repeat("0", n-2)
	}
}

// parseLiteral reads a number of an expression: also .5, 5., 1_000, 0x1f, 0b1 and 0o7.
func parseLiteral(text string) (field.Decimal, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if len(text) > 2 && text[0] == '0' && strings.ContainsAny(text[1:2], "xXbBoO") {
		n, ok := new(big.Int).SetString(text, 0)
		if !ok {
			return field.Decimal{}, false
		}
		return field.ParseDecimal(n.Append(nil, 10))
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if i := strings.IndexByte(text, '.'); i >= 0 && (i+1 == len(text) || text[i+1] < '0' || text[i+1] > '9') {
		text = text[:i+1] + "0" + text[i+1:]
	}
	return field.ParseDecimal([]byte(text))
}

// literal is the number that a node of one stands for.
func (c *compiler) literal(node ast.Node) field.Decimal {
	text, ok := c.literals[node.Location().From]
	if !ok {
		switch n := node.(type) { // it has no place
		case *ast.IntegerNode:
			text = strconv.Itoa(n.Value)
		case *ast.FloatNode:
			text = strconv.FormatFloat(n.Value, 'g', -1, 64)
		}
	}
	n, _ := parseLiteral(text)
	return n
}
