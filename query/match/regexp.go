package match

import (
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// compileRegexp compiles an expression, together with a literal that every text
// it matches contains; the literal is empty if none is found.
func compileRegexp(expr string, fold bool) (*regexp.Regexp, Literal, error) {
	re, err := regexp.Compile(expr)
	if err == nil && fold {
		expr = "(?i)" + expr
		re, err = regexp.Compile(expr)
	}
	if err != nil {
		return nil, Literal{}, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, Literal{}, err
	}
	text, fold := requiredText(tree)
	return re, NewLiteral(text, fold, false), nil
}

// requiredText is the longest text that everything matched by tree contains, and
// whether its ASCII letters match in either case.
func requiredText(tree *syntax.Regexp) (text []byte, fold bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		fold = tree.Flags&syntax.FoldCase != 0
		return longestExact(tree.Rune, fold), fold
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return requiredText(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if t, f := requiredText(sub); len(t) > len(text) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

// longestExact is the longest part of a literal whose bytes a match must contain.
// The replacement character also matches bytes that are not UTF-8; a letter
// that folds to others outside ASCII (k and the Kelvin sign) has several forms.
func longestExact(runes []rune, fold bool) []byte {
	var best, part []byte
	for _, r := range runes {
		if r == utf8.RuneError || fold && !foldsInASCII(r) {
			part = nil
			continue
		}
		part = utf8.AppendRune(part, r)
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// foldsInASCII reports whether all forms of r under case folding are ASCII, or r has one form only.
func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f > unicode.MaxASCII || r > unicode.MaxASCII {
			return false
		}
	}
	return true
}

// RequiredLiteral is a literal that every text which a regular expression matches contains; not ok if none is found.
func RequiredLiteral(expr string) (Literal, bool) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return Literal{}, false
	}
	text, fold := requiredText(tree)
	return NewLiteral(text, fold, false), len(text) > 0
}
