// Package token defines the tokens of a message. They depend on the text of the message only, because the writer and the
// reader of the token filter, and the rule by which a query matches an identifier as a whole, must agree on them.
//
// A run is a maximal sequence of ASCII letters and digits, '_' and bytes from 0x80 on. Every run is a token. If a run may
// start with part of a backslash escape (\n, \u003c), both the whole run and the rest after the escape are tokens: the
// text alone does not tell whether the backslash escapes anything. The same applies to the sequence of a terminal's colour
// (ESC [ 3 1 m), whose last number and letter begin the run of the word behind it.
//
// A compound is a sequence of runs, joined by single bytes, of a fixed shape: an IPv4 address, a UUID or a hardware
// address (aa:bb:cc:dd:ee:ff). A compound is a token in addition to its runs, regardless of the text around it:
// 10.0.0.1:80 and 10.0.0.1.5 both contain 10.0.0.1.
//
// Tokens compare with ASCII letters folded to lower case; no other letter is folded.
//
// An identifier is a pattern that a query matches as a whole: runs joined by single '.', '-' or ':'
// ("order-12345", an address, one run alone). Where it occurs with no byte of a run before or after
// it, all its runs and compounds are tokens.
package token

import "iter"

// MinWhole is the minimum length in bytes of an identifier that is matched as a whole.
const MinWhole = 7

// IsByte reports whether b belongs to runs.
func IsByte(b byte) bool {
	return b >= 0x80 || b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// Lower folds an ASCII letter to lower case.
func Lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// Whole reports whether a plain pattern is matched as a whole: it is an identifier of at least
// [MinWhole] bytes with a digit in it.
func Whole(pattern []byte) bool {
	digit, joined := false, true // joined: a run must follow
	for _, b := range pattern {
		run := IsByte(b)
		if !run && (joined || b != '.' && b != '-' && b != ':') {
			return false
		}
		joined = !run
		digit = digit || isDigit(b)
	}
	return digit && !joined && len(pattern) >= MinWhole
}

// Bounded reports whether the identifier text[start:end] occurs as a whole: the byte after it does not belong to a run,
// and neither does the byte before it, unless it may be the end of an escape.
func Bounded(text []byte, start, end int) bool {
	if end < len(text) && IsByte(text[end]) {
		return false
	}
	return start == 0 || !IsByte(text[start-1]) || escapeEnds(text, start)
}

// escapeEnds reports whether a backslash escape may end right before i: a backslash and a letter, or \u and four
// hexadecimal digits; or the sequence of a terminal's colour: see [ColorEnd].
func escapeEnds(text []byte, i int) bool {
	if text[i-1] == 'm' {
		at := i - 1
		for at > 0 && isDigit(text[at-1]) {
			at--
		}
		if ColorEnd(text, at) == i {
			return true
		}
	}
	if i >= 2 && text[i-2] == '\\' && isLetter(text[i-1]) {
		return true
	}
	return i >= 6 && text[i-6] == '\\' && text[i-5] == 'u' && allHex(text[i-4:i])
}

// All yields start and end of each token of text, in order of their start. Tokens overlap if they come from escapes or
// compounds.
func All(text []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(text); i++ {
			if !IsByte(text[i]) || i > 0 && IsByte(text[i-1]) && !escapeEnds(text, i) {
				continue
			}
			end := i
			for end < len(text) && IsByte(text[end]) {
				end++
			}
			if !yield(i, end) {
				return
			}
			if n := compound(text[i:]); n > 0 && !yield(i, i+n) {
				return
			}
		}
	}
}

func isLetter(b byte) bool { b = Lower(b); return 'a' <= b && b <= 'z' }

func isHex(b byte) bool { b = Lower(b); return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func allHex(s []byte) bool {
	for _, b := range s {
		if !isHex(b) {
			return false
		}
	}
	return true
}
