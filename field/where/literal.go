package where

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"

	"logstow/field"
)

// hideLiterals returns the source with every number written in a way that the parser takes, and of the
// same length, so that places stay what they are; and the numbers by their place, in characters. The
// parser refuses whole numbers of more than 63 bits and rounds decimals.
func hideLiterals(source string) (parsed string, literals map[int]string) {
	text, literals := hideQuantities([]rune(source))
	tokens, err := lexer.Lex(file.NewSource(string(text)))
	if err != nil {
		return string(text), literals // the parser finds it too
	}
	for _, token := range tokens {
		from, to := token.From, token.To
		if token.Kind != lexer.Number || to > len(text) {
			continue
		}
		literal := string(text[from:to])
		if literals[from] != "" {
			continue // with a unit
		}
		if _, ok := parseLiteral(literal); ok {
			literals[from] = literal
			copy(text[from:to], []rune(standIn(to-from)))
		}
	}
	return string(text), literals
}

// hideQuantities is hideLiterals for numbers with units, outside of quotes and comments.
func hideQuantities(text []rune) (parsed []rune, literals map[int]string) {
	literals = map[int]string{}
	for i := 0; i < len(text); {
		n := skipped(text[i:])
		if n > 0 {
			i += n
			continue
		}
		for n = 1; isWord(text[i]) && i+n < len(text) && (isWord(text[i+n]) || text[i+n] == '.' && i+n+1 < len(text) && isDigit(text[i+n+1]) && isDigit(text[i])); n++ {
		}
		literal := string(text[i : i+n])
		if _, _, ok := field.ParseQuantity([]byte(literal)); ok && (i == 0 || text[i-1] != '.' || i > 1 && text[i-2] == '.') {
			literals[i] = literal
			copy(text[i:], []rune(standIn(n)))
		}
		i += n
	}
	return text, literals
}

// skipped is the length of the string or comment that text starts with; 0 if it starts with neither.
func skipped(text []rune) int {
	end := func(start int, found func(i int) bool) int {
		for i := start; i < len(text); i++ {
			if found(i) {
				return i + 1
			}
		}
		return len(text)
	}
	switch quote := text[0]; {
	case quote == '"' || quote == '\'':
		escaped := false
		return end(1, func(i int) bool {
			closes := text[i] == quote && !escaped
			escaped = text[i] == '\\' && !escaped
			return closes
		})
	case quote == '`':
		return end(1, func(i int) bool { return text[i] == '`' })
	case quote == '/' && len(text) > 1 && text[1] == '/':
		return end(2, func(i int) bool { return text[i] == '\n' })
	case quote == '/' && len(text) > 1 && text[1] == '*':
		return end(3, func(i int) bool { return text[i] == '/' && text[i-1] == '*' })
	}
	return 0
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// isWord reports whether a character can be a part of a name or a number.
func isWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// standIn is a number of n characters that the parser takes: 1, 10, 1.0, 1.00, …
func standIn(n int) string {
	switch n {
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

// quantity is the operand of a number with a unit: its value is the text.
func (c *compiler) quantity(node ast.Node) (operand, bool) {
	text := c.literals[node.Location().From]
	_, d, ok := field.ParseQuantity([]byte(text))
	return c.constant(stringValue([]byte(text)), classOf(d)), ok
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
