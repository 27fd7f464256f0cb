package match

import (
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// compileRegexp compiles an expression. It also returns a literal that every matching text contains, empty if none is found.
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

// requiredText returns the longest text found that every match of tree contains, and whether the case of its ASCII letters is
// ignored.
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

// longestExact returns the longest part of a literal whose bytes every match contains. It excludes the replacement character,
// which also matches bytes that are not UTF-8, and letters that fold to others outside ASCII (k and the Kelvin sign).
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

// foldsInASCII reports whether all letters that r folds to, r included, are ASCII, or r folds to no other letter.
func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f > unicode.MaxASCII || r > unicode.MaxASCII {
			return false
		}
	}
	return true
}

// RequiredLiteral returns a literal that every match of a regular expression contains; not ok if none is found.
func RequiredLiteral(expr string) (Literal, bool) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return Literal{}, false
	}
	text, fold := requiredText(tree)
	return NewLiteral(text, fold, false), len(text) > 0
}
