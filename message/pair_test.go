package message_test

import (
	"strings"
	"testing"

	"logstow/message"
)

// Prose has pairs in brackets, and other texts before an equals sign.
func TestPairsInProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[KafkaServer id=0] started (kafka.server.KafkaServer)":          "id=0",
		"gc (mem=20, cpu=3) done":                                        "mem=20 cpu=3",
		" INFO request{id=5 method=GET}: app: done":                      "id=5 method=GET",
		"request{id=5}:user{name=ann}: x":                                "id=5 name=ann",
		"Order[id=7, items=[a, b], total=9.50]":                          "id=7 items=[a total=9.50",
		"session opened for user root(uid=0) by (uid=1000)":              "uid=0 uid=1000",
		`took=5ms; rows=3, name="a, b", done`:                            "took=5ms rows=3 name=a, b",
		"f(x)=3 list=(1) map={a:1} time=12:30: last=x:":                  "list=(1) map={a:1} time=12:30: last=x:",
		"empty= paren=) comma=, a=1,b=2":                                 "empty= paren= comma= a=1,b=2",
		`/a?b=1 x<=2 GET /x=1 =3 a,b=8 "c=9 "d"=1 -v=7 .w=1`:             "",
		"k8s.io/app=web http-status=4 @t=5 $x=6 é=10 5m=11 x#1=12 #2=13": "k8s.io/app=web http-status=4 @t=5 $x=6 é=10 5m=11 x#1=12",
		`a="open b=2`:                   `a="open b=2`,
		`a="x"b=1 c=a=b d=x"y e="q\"r"`: `a=x c=a=b d=x"y e=q"r`,
	} {
		var all []string
		for name, v := range message.All([]byte(text)) {
			all = append(all, name+"="+string(v.Text))
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
