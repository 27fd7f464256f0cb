package match

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// compileRegexp compiles an expression. It also returns a literal that every matching text contains, and one that every matching text
// without [foldingOutside] contains, which may be longer; they are empty if none is found.
func compileRegexp(expr string, fold bool) (_ *regexp.Regexp, every, ascii Literal, _ error) {
	re, err := regexp.Compile(expr)
	if err == nil && fold {
		expr = "(?i)" + expr
		re, err = regexp.Compile(expr)
	}
	if err != nil {
		return nil, Literal{}, Literal{}, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, Literal{}, Literal{}, err
	}
	text, folds := requiredText(tree, foldsInASCII)
	inASCII, foldsASCII := requiredText(tree, func(r rune) bool { return r <= unicode.MaxASCII || foldsInASCII(r) })
	return re, NewLiteral(text, folds, false), NewLiteral(inASCII, foldsASCII, false), nil
}

// foldingOutside reports whether a text has one of the letters outside ASCII that fold to letters in it: the long s and the Kelvin sign.
func foldingOutside(text []byte) bool {
	return bytes.Contains(text, []byte("\u017f")) || bytes.Contains(text, []byte("\u212a"))
}

// requiredText returns the longest text found that every match of tree contains, and whether the case of its ASCII letters is
// ignored. Of letters whose case is ignored, it has those for which folds is true.
func requiredText(tree *syntax.Regexp, folds func(rune) bool) (text []byte, fold bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		fold = tree.Flags&syntax.FoldCase != 0
		return longestExact(tree.Rune, fold, folds), fold
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(tree.Sub[0], folds)
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return requiredText(tree.Sub[0], folds)
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if t, f := requiredText(sub, folds); len(t) > len(text) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

// longestExact returns the longest part of a literal whose bytes every match contains. It excludes the replacement character,
// which also matches bytes that are not UTF-8, and if fold is set, letters for which folds is false.
func longestExact(runes []rune, fold bool, folds func(rune) bool) []byte {
	var best, part []byte
	for _, r := range runes {
		if r == utf8.RuneError || fold && !folds(r) {
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
	text, fold := requiredText(tree, foldsInASCII)
	return NewLiteral(text, fold, false), len(text) > 0
}
