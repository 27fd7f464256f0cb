package match_test

import (
	"testing"

	"logstow/query/match"
)

func TestRequiredLiteral(t *testing.T) {
	for expr, texts := range map[string][2]string{
		`a+bcd.*`:     {"xxbcdx", "bxcd"},
		`(?i)x.hello`: {"HeLLO", "helo"},
		`(id=7){2}`:   {"id=7", "id=8"},
	} {
		l, ok := match.RequiredLiteral(expr)
		if !ok || l.Index([]byte(texts[0])) < 0 || l.Index([]byte(texts[1])) >= 0 {
			t.Errorf("%s: the literal is %v, %v", expr, l, ok)
		}
	}
	for _, expr := range []string{`a|b`, `.*`, `(`, `[ab]c?`} {
		if l, ok := match.RequiredLiteral(expr); ok {
			t.Errorf("%s requires %v", expr, l)
		}
	}
}
