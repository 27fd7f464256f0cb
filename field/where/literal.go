package where

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"logstow/exact"
	"logstow/message"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// hideLiterals replaces each number in source by a placeholder of the same length, so that positions do not change. It returns the
// numbers by position, in characters. This is needed because the parser rejects integers of more than 63 bits, rounds decimals, and
// has no units.
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
			copy(text[from:to], []rune(placeholder(to-from)))
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
		if _, _, ok := message.ParseQuantity([]byte(literal)); ok && (i == 0 || text[i-1] != '.' || i > 1 && text[i-2] == '.') {
			literals[i] = literal
			copy(text[i:], []rune(placeholder(n)))
		}
		i += n
	}
	return text, literals
}

// skipped returns the length of the string or comment that text starts with, 0 if there is none.
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

// placeholder returns a number of n characters that the parser accepts: 1, 10, 1.0, 1.00, …
func placeholder(n int) string {
	switch n {
	case 1:
		return "1"
	case 2:
		return "10"
	default:
		return "1." + strings.Repeat("0", n-2)
	}
}

// parseLiteral returns the text of a number in an expression, including .5, 5., 1_000, 0x1f, 0b1 and 0o7, in the syntax of messages.
func parseLiteral(text string) (number []byte, ok bool) {
	text = strings.ReplaceAll(text, "_", "")
	if len(text) > 2 && text[0] == '0' && strings.ContainsAny(text[1:2], "xXbBoO") {
		n, ok := new(big.Int).SetString(text, 0)
		if !ok {
			return nil, false
		}
		return n.Append(nil, 10), true
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if i := strings.IndexByte(text, '.'); i >= 0 && (i+1 == len(text) || text[i+1] < '0' || text[i+1] > '9') {
		text = text[:i+1] + "0" + text[i+1:]
	}
	number = []byte(text)
	_, ok = exact.Parse(number)
	return number, ok
}

// quantity returns the operand of a number with a unit, whose value is its text.
func (c *compiler) quantity(node ast.Node) (operand, bool) {
	text := c.literals[node.Location().From]
	_, d, ok := message.ParseQuantity([]byte(text))
	return c.constant(stringValue([]byte(text)), classOf(d)), ok
}

// literal returns the text of the number at a node of a placeholder.
func (c *compiler) literal(node ast.Node) []byte {
	text, ok := c.literals[node.Location().From]
	if !ok {
		switch n := node.(type) { // the parser made the node without a position
		case *ast.IntegerNode:
			text = strconv.Itoa(n.Value)
		case *ast.FloatNode:
			text = strconv.FormatFloat(n.Value, 'g', -1, 64)
		}
	}
	n, _ := parseLiteral(text)
	return n
}
