package message_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/message"
)

func TestAll(t *testing.T) {
	t.Parallel()
	for msg, want := range map[string]string{
		`{"status":200,"user":{"name":"ann","id":7},"ok":true}`: `status=200 user={"name":"ann","id":7} user.name=ann user.id=7 ok=true`,
		`took {"a":1}`:                      `a=1`,
		`{"a\"b":null,"c":[1,{"d":2}]`:      `a"b=null c=[1,{"d":2}]`,
		`level=info msg="a=1 b=2" took=3ms`: `level=info msg=a=1 b=2 took=3ms`,
		`x y=1`:                             `y=1`,
		`=1 a= b=c=d`:                       `a= b=c=d`,
		`plain text`:                        ``,
		``:                                  ``,
	} {
		var got []string
		for name, v := range message.All([]byte(msg)) {
			got = append(got, name+"="+string(v.Text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", msg, got, want)
		}
	}
	for range message.All([]byte(`{"a":{"b":1},"c":2}`)) {
		break
	}
	deep := strings.Repeat(`{"a":`, 100_000)
	n := 0
	for range message.All([]byte(deep + "1" + strings.Repeat("}", 100_000))) {
		n++
	}
	if n > 8 {
		t.Errorf("%d fields of deep nesting", n)
	}
}

// Whatever All names, Find finds: with the same value, unless a message begins as an
// object and is none, where Find takes what looks like a member.
func TestAllAgreesWithFind(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	pieces := []string{`{`, `}`, `"a"`, `"b.c"`, `:`, `,`, `1`, `"x\"y"`, `null`, `[`, `]`, ` `, `a=`, `b="q r"`, `=`, `"`, `\`, `é=`, "\t"}
	fields := 0
	for range 20_000 {
		var msg strings.Builder
		for range rnd.IntN(20) {
			msg.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		seen := map[string]bool{}
		for name, v := range message.All([]byte(msg.String())) {
			if seen[name] {
				continue
			}
			seen[name] = true
			fields++
			want := fmt.Sprint(v.Kind, string(v.Text))
			found := message.NewFinder(name).Find([]byte(msg.String()))
			malformed := strings.HasPrefix(msg.String(), "{") && !json.Valid([]byte(msg.String()))
			if got := fmt.Sprint(found.Kind, string(found.Text)); got != want && !malformed || found.Kind == message.Missing {
				t.Fatalf("%q: %q is %s, Find finds %s", msg.String(), name, want, got)
			}
		}
	}
	if fields < 1000 {
		t.Errorf("%d fields only", fields)
	}
}
