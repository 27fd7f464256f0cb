package syntax

import (
	"errors"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, test := range append(validQueries(), relaxedQueries()...) {
		f.Add(test[0])
	}
	for _, test := range invalidQueries() {
		f.Add(test.query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		e, err := Parse(query)
		if err != nil {
			checkError(t, query, err)
			return
		}
		for _, form := range []string{e.String(), Pretty(e)} {
			if len(form) > maxLength {
				continue
			}
			again, err := Parse(form)
			if err != nil {
				t.Fatalf("%q\nhas the form %q\n%v", query, form, err)
			}
			if !equal(e, again) || again.String() != e.String() {
				t.Fatalf("%q\nhas the form %q\nwhich is  %q", query, form, again)
			}
		}
	})
}

func FuzzParseMatchers(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{a="b", c=~"d.*"}`)
	f.Fuzz(func(t *testing.T, selector string) {
		all, err := ParseMatchers(selector)
		if err != nil {
			checkError(t, selector, err)
			return
		}
		e := &LogExpr{Matchers: all}
		again, err := ParseMatchers(e.String())
		if len(e.String()) <= maxLength && (err != nil || !equal(e, &LogExpr{Matchers: again})) {
			t.Fatalf("%q\nhas the form %q: %v", selector, e, err)
		}
	})
}

// checkError checks that the place of an error is in the query, or its end.
func checkError(t *testing.T, query string, err error) {
	var mistake *Error
	if !errors.As(err, &mistake) {
		t.Fatalf("%q: error of another type: %v", query, err)
	}
	lines := strings.Split(query, "\n")
	if mistake.Line < 1 || mistake.Line > len(lines) || mistake.Col < 1 || mistake.Col > len([]rune(lines[mistake.Line-1]))+1 || mistake.Message == "" {
		t.Fatalf("%q: place of the error: %v", query, err)
	}
}
