package patterns_test

import (
	"strings"
	"testing"

	"logstow/query/patterns"
)

func TestShape(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain words stay", "plain words stay"},
		{" \t many \v\f blanks\r ", "many blanks"},
		// Numbers and what contains them.
		{"took 12 of 3.5, -7 and +8", "took <_> of <_>, <_> and <_>"},
		{"a-1 b_-2 c -d e+f", "a-<_> b_<_> c -d e+f"},
		{"10.0.0.1:80 2026-11-20T15:04:05.123+02:00 1,234", "<_>"},
		{"fe80::1ff:fe23:abcd:1 ::1 end", "<_> ::<_> end"},
		{"mac 00:0c:29:ad:be:ef up", "mac <_> up"},
		{"x:ab y", "x:ab y"},
		{"x 00:0c:abcde y", "x <_>:abcde y"},
		{"worker12 jk2_init() ssh2 v1 x", "worker<_> jk<_>_init() ssh<_> v<_> x"},
		{"Slf4jLogger a1b2 a12b 12ms 4kB", "Slf<_>jLogger <_> a<_>b <_>"},
		{"ab1 abcde1 abcdg1 a1234 ab123 abcd1234x", "ab<_> <_> abcdg<_> <_> ab<_> abcd<_>x"},
		{"deadbeef defaced feedface1", "<_> defaced <_>"},
		{"id 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 x", "id <_> x"},
		{"id abcdefab-abcd-abcd-abcd-abcdefabcdef x", "id <_> x"},
		{"id abcdefab-abcd-abcd-abcd-abcdefabcdefg x", "id <_>-abcd-abcd-abcd-abcdefabcdefg x"},
		{"id abcdefab-abcd-abcd-abcd-abcdefabcdez", "id <_>-abcd-abcd-abcd-abcdefabcdez"},
		{"blk_1 blk_2 blk_3 blk_4x", "blk_<_>"},
		{"[1, 2, 3, 4]", "[<_>, <_>, <_>]"},
		{"a a b b", "a a b b"},
		{"1 2 3", "<_>"},
		{"1..2 1...2", "<_> <_>...<_>"},
		// Dates.
		{"Jun 14 15:16:01 combo", "<_> combo"},
		{"Jun  4 combo", "<_> combo"},
		{"at Sun Jul 17 15:09:54 2005 x", "at <_> x"},
		{"Fri, 20 Nov 2026 x", "<_>, <_> x"},
		{"20/Nov/2026:15:04:05 x", "<_> x"},
		{"Sun sets in May or Mar 1", "Sun sets in May or <_>"},
		{"Mon Tue", "Mon Tue"},
		// Paths and URLs.
		{"read /var/log/a.log. done", "read <_>. done"},
		{"(/var/lib/x): in use", "(<_>): in use"},
		{"and/or n/a / x", "and/or n/a / x"},
		{"//x ./y ~/z", "/<_> .<_> ~<_>"},
		{"open C:\\Users\\bob.txt now C:x", "open <_> now C:x"},
		{"to http://a.b/c?d=e&f, https://x) y", "to http://<_>, https://<_>) y"},
		{"hdfs://x a:// b", "hdfs://<_> a://<_> b"},
		// Pairs.
		{"user=root uid=0 logname= ok=true on=FALSE x=null", "user=<_> uid=<_> logname= ok=true on=FALSE x=null"},
		{"tty=ssh, b=c; d=e)", "tty=<_>, b=<_>; d=<_>)"},
		{"a == b a=b=c =d a>=b x1=y", "a == b a=<_> =d a>=b x<_>=<_>"},
		{"a=falsey b=no c=none d=nones", "a=<_> b=no c=none d=<_>"},
		{"top=Info{a/b.c} t=Token{a b} u=V{a", "top=<_> t=<_>{a b} u=<_>{a"},
		{"p=/var/x q='v w' r=\"\" s=\"t\"", "p=<_> q='<_>' r=\"\" s=\"<_>\""},
		// Quoted strings.
		{`open "a b": no`, `open "<_>": no`},
		{`it's "fine`, `it's "fine`},
		{`say "a \" b" x`, `say "<_>" x`},
		{`x"y" "a"b`, `x"y" "a"b`},
		{`"GET /x HTTP/1.1" 200`, `"GET <_> HTTP/<_>" <_>`},
		{`"GETX /x" y`, `"<_>" y`},
		{`{"a":"b","c": "d e","f":[ "g" , "h"],"i":["j","k","l"]}`, `{"a":"<_>","c": "<_>","f":[ "<_>" , "<_>"],"i":["<_>"]}`},
		{`['a','b',"c","d",'e']`, `['<_>',"<_>",'<_>']`},
		{`{"a b":1}`, `{"<_>":<_>}`},
		// Users.
		{"for user news by", "for user <_> by"},
		{"User j.doe@example.com: bad", "User <_>: bad"},
		{"user a1 x superuser y", "user <_> x superuser y"},
		// Units.
		{"size 12.0 KB, free 3 B took 5 ms x 5 KBs KB", "size <_> <_>, free <_> took <_> x <_> KBs KB"},
		// Other bytes.
		{"grüße an café", "grüße an café"},
		{"turned \u202e text é", "turned <_> text <_>"},
		{"next\u0085line", "next<_>line"},
		{"en \u2013 dash, 5\u00a0%", "en \u2013 dash, <_>%"},
		{"bad \xff\xfe bytes é", "bad <_> bytes <_>"},
		{"nul \x00\x01 x\x7fy", "nul <_> x<_>y"},
		{"\x1b[31;1mERROR\x1b[0m x\x1b[2", "<_>ERROR<_> x<_>"},
		// Long words.
		{long + " " + long + "x", long + " <_>"},
		{long[:63] + "1 " + long + "1", long[:63] + "<_> <_>"},
		{"b2:x e4:f face:b00c", "b<_>:x <_> face:b<_>c"},
	} {
		if got := patterns.Shape(c.text); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
		if !patterns.NewMatcher(patterns.Shape(c.text)).Matches([]byte(c.text)) {
			t.Errorf("%q does not match its shape %q", c.text, patterns.Shape(c.text))
		}
	}
}

// Only the first 64 words and the first KiB of a text count.
func TestShapeLimits(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSuffix(strings.Repeat("xx yy ", n/2), " ") }
	for _, c := range []struct{ name, text, want string }{
		{"64 words", words(64), words(64)},
		{"66 words", words(66), words(64) + "<_>"},
		{"last is a wildcard", words(62) + " a 1 b", words(62) + " a <_>"},
		{"64 words and a cut blank", strings.Repeat("x y ", 31) + strings.Repeat("x", 50) + " y" + strings.Repeat(" ", 2000) + "z", strings.Repeat("x y ", 31) + strings.Repeat("x", 50) + " <_>"},
		{"1024 bytes", strings.Repeat("a b ", 2) + strings.Repeat("é", 508), strings.Repeat("a b ", 2) + "<_>"},
		{"cut letter", "éb " + strings.Repeat("😀", 300), "éb <_>"},
		{"cut word", "head " + strings.Repeat("long-", 300), "head <_>"},
		{"cut wildcards", "ids " + strings.Repeat("id_1234567 ", 300), "ids id_<_>"},
		{"cut number", "ids " + strings.Repeat("1234567 ", 300), "ids <_>"},
		{"cut object", `{"a":1,"b":"` + strings.Repeat("x", 2000) + `"}`, `{"a":<_>,"b":"<_>`},
		{"cut object without wildcards", `{"aaaa":true,` + strings.Repeat("x-", 2000), `<_>`},
		{"cut text", strings.Repeat("x-", 2000), `<_>`},
	} {
		if got := patterns.Shape(c.text); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if !patterns.NewMatcher(patterns.Shape(c.text)).Matches([]byte(c.text)) {
			t.Errorf("%s does not match its shape", c.name)
		}
	}
	fits := strings.Repeat("abcdefg ", 8) + strings.Repeat("h-", (1024-64)/2)
	if got := patterns.Shape(fits); got != fits {
		t.Errorf("1 KiB: %q", got)
	}
	if got, want := patterns.Shape(fits+"i"), strings.Repeat("abcdefg ", 8)+"<_>"; got != want {
		t.Errorf("1 KiB and 1 byte: got %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, want string }{
		{"", ""},
		{" \n\t ", ""},
		{"\n first \r\nsecond", "first"},
		{`{"level":"info","msg":"user \"x\" came"}`, `user "x" came`},
		{`{"log":"a line\n","stream":"stdout"}`, "a line"},
		{`{"event":"login","message":"hello"}`, "hello"},
		{`{"event":"login","body":"b","n":1}`, "login"},
		{`{"short_message":"s"} `, "s"},
		{`{"MESSAGE":"m"}`, "m"},
		{`{"text":"t"}`, "t"},
		{`{"msg":"","message":"m"}`, "m"},
		{`{"msg":5,"a":"b"}`, `{"msg":5,"a":"b"}`},
		{`{"msg":{"a":1}}`, `{"msg":{"a":1}}`},
		{`{"a":{"msg":"inner"},"b":1}`, `{"a":{"msg":"inner"},"b":1}`},
		{`{"a":1}`, `{"a":1}`},
		{"{\n  \"msg\": \"pretty\"\n}", "pretty"},
		{"{\n  \"a\": 1\n}", "{"},
		{`{"msg":"a\nb"}`, "a"},
		{`{"msg":"cut off`, `{"msg":"cut off`},
		{`{"msg":"ok","rest":"cut off`, "ok"},
		{`2026-11-20 INFO {"msg":"behind"}`, "behind"},
		{`INFO {x} {"msg":"second"}`, "second"},
		{`INFO {"x"} {"msg":"second"}`, "second"},
		{`INFO {a} done}`, `INFO {a} done}`},
		{`level=info msg="user came" n=1`, "user came"},
		{`msg=came n=1`, "came"},
		{`n=1 message=last`, "last"},
		{`message="a \"b\"" n=1`, `a "b"`},
		{`xmsg=a n=1`, `xmsg=a n=1`},
		{"xmsg=a\tmsg=b", "b"},
		{`msg= n=1`, `msg= n=1`},
		{`msg="open`, `"open`},
		{`a msg=b message=c`, "b"},
		// The text of a line that an agent wrapped is that of the line.
		{`{"log":"{\"msg\":\"a \\\"b\\\" \\u00e9\"}\n","pod":"x"}`, `a "b" é`},
		{`{"body":"level=info msg=\"user came\" n=1"}`, "user came"},
		{`{"message":"{\"n\":1}"}`, `{"n":1}`},
		{`{"message":"n=1 came"}`, `n=1 came`},
		{`{"message":"{cut \"msg\":\"x\""}`, `{cut "msg":"x"`},
		{`{"message":"it failed msg=5"}`, `it failed msg=5`},
		{`{"message":"failed: {\"msg\":\"x\"}"}`, `failed: {"msg":"x"}`},
		{`{"log":"{\"log\":\"{\\\"msg\\\":1}\"}"}`, `{"msg":1}`},
		{`msg="{\"msg\":\"x\"}"`, `{"msg":"x"}`},
	} {
		if got := string(patterns.Text([]byte(c.message))); got != c.want {
			t.Errorf("%q: got %q, want %q", c.message, got, c.want)
		}
	}
	many := strings.Repeat(`{"x"} `, 8) + `{"msg":"ninth"}`
	if got := string(patterns.Text([]byte(many))); got != many {
		t.Errorf("%q: got %q", many, got)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template, message string
		want              bool
	}{
		{"", "", true},
		{"", "a", false},
		{"<_>", "", true},
		{"<_>", "a b", true},
		{"a b", "a  b ", true},
		{"a b", "ab", false},
		{"a b", "a b c", false},
		{"a <_> c", "a b c", true},
		{"a <_> c", "a c", false},
		{"a<_>a", "a", false},
		{"a<_>a", "aa", true},
		{"a <_> b <_> c", "a 1 b 2 c", true},
		{"a <_> b <_> b", "a 1 b", false},
		{"a <_> b <_> c", "a 1 x 2 c", false},
		{"<_> x <_>", "1 x 2\nsecond line", true},
		{"<_> end", "the end of", false},
		{"start <_>", "a start b", false},
		{"user <_> came", `{"msg":"user bob came"}`, true},
	} {
		if got := patterns.NewMatcher(c.template).Matches([]byte(c.message)); got != c.want {
			t.Errorf("%q, %q: %v", c.template, c.message, got)
		}
	}
}
