package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"logstow/message"
)

// messageOf is a message of a form.
func messageOf(rnd *rand.Rand, form message.Form, kind int) string {
	if form == message.PairsForm {
		return logfmtMessage(rnd, kind)
	}
	return jsonMessage(rnd, kind)
}

// jsonMessage is a message that is an object; the values of those of kind 0 are all of plain types.
func jsonMessage(rnd *rand.Rand, kind int) string {
	members := []string{
		fmt.Sprintf(`"status":%d`, 200+100*rnd.IntN(4)), fmt.Sprintf(`"route":"%s"`, pick(rnd, []string{"/a", "/b", "", `\u002fa`, "ü"})),
		fmt.Sprintf(`"took_ms":%s`, plainNumber(rnd)), fmt.Sprintf(`"wait":"%dms"`, rnd.IntN(4)), fmt.Sprintf(`"size":"%dKB"`, rnd.IntN(3)),
	}
	if kind > 0 {
		members = append(members, fmt.Sprintf(`"value":%s`, oddValue(rnd)), fmt.Sprintf(`"level":%q`, pick(rnd, []string{"error", "info"})))
	}
	if kind > 1 {
		members = append(members, `"o":{"x":1,"y":[{"z":2}]}`, fmt.Sprintf(`"a.b":%d`, rnd.IntN(3)))
		members = slices.DeleteFunc(members, func(string) bool { return rnd.IntN(8) == 0 })
	}
	if kind == 3 && rnd.IntN(20) == 0 {
		members = append(members, pick(rnd, oddMembers()))
	}
	if kind > 0 {
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	separator := pick(rnd, []string{",", ",", " , "})
	return "{" + strings.Join(members, separator) + "}"
}

// oddMembers are members that json finds otherwise than auto, or that are mistakes, and some that look like them.
func oddMembers() []string {
	return []string{
		`"took":{"ms":5}`, `"took.ms":6`, `"took-ms":7`, `" status ":8`, `"st\u0061tus":9`, `"status":null`, `"status":201`, `"msg":"x"`, `"5xx":1`, `"größe":1`,
		`"message":"status=207 took_ms=3"`, `"log":"{\"status\":208}"`, `"o":{"x":}`, `"o":{"x":1,}`, `"o":{,"x":1}`, `"o":[}`, `"bad":nul`, `"bad":01`, `"bad":1x`, `"":{"status":1}`,
		`"message":"one=1 two=2"`, `"deep":` + strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 63), `"deep":` + strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		`"o":{"x":1 "y":2}`, `"p":{,"x":1}`, `"p":{"x":1,}`, `"o":{"x":tru}`, `"o":{"x":nil}`, `"o":{"x":--1}`, `"o":{"x"}`, `"\u0020status":1`, `" status":1`, `"took":{"ms":null}`, `"took":[{"ms":1}]`, `"o":{"x":[1}]}`,
		`"o_x":4`, `"o.x":5`, `"o-x":6`, `"a":{"b":7}`, `"a_b":8`, `"o":{"x":null}`, `"o":{" x":9}`, `"o":{"x":1,"x":2}`, `"o":{"x":{"y":1}}`, `"o":{"p":{"q":1}}`, `"o_p":{"q":2}`, `"o":{"p.q":3}`, `"o":{"p_q":4}`,
		`"o.p":{"q":5}`, `"o":{"p":{"\u0071":6}}`, `"o":5`, `"o":{}`, `"":{"o":{"x":7}}`, `"o":{"":{"x":8}}`, `"o":{"":9}`, `"_o":{"x":1}`, "\"o\xffx\":1", "\"o\":{\"x\xff\":1}", `"message":{"status":1}`,
		`"message_status":2`, `"log":{"status":3}`, `"o":{"x":"a\"b"}`, `"o":{"x":1e400}`, `"a.b":[]`, `"a.b":{}`, `"a.b":{"c":1}`,
	}
}

// plainNumber is a number, most often one of many.
func plainNumber(rnd *rand.Rand) string {
	return pick(rnd, []string{fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprintf("%.3f", rnd.Float64()*100), fmt.Sprint(rnd.IntN(3)), "-7", "0"})
}

// oddValue is a value that types and ways of writing make difficult.
func oddValue(rnd *rand.Rand) string {
	return pick(rnd, []string{
		"1", "1.0", "1e0", "-0", "-0.0", "0", "0.1", "0.10", "12345678901234567", "9007199254740993", "123456789012345678", "18446744073709551616", "1e400", "-9223372036854775808", "0.000000001",
		"null", "true", "false", `"7"`, `"007"`, `"0x1F"`, `"NaN"`, `"inf"`, `"1_000"`, `""`, `" 5"`, `"a\"b"`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", `"5s"`,
		"1", "2", "3", "4.5", "2", fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)),
	})
}

// oddMessage is a message that json does not parse, or parses otherwise than auto.
func oddMessage(rnd *rand.Rand) string {
	return pick(rnd, []string{
		"status=500 route=/a took_ms=3", "plain text", "", "[]", "{}", "null", `x {"status":500}`, `{"status":500,"route":"/a"`, `{"status":500} x`, ` {"status":500,"took_ms":1}`, `{,"status":500}`,
		`{"status":500,"took_ms":1,}`, `{"status":500,"took_ms":1}}`, `{"status":500 "took_ms":1}`, `{"log":"status=500 took_ms=4"}`, "{\"status\":500,\n\"took_ms\":2}", `{"status":500,"took_ms":2} `,
		`{"__error__":"x","status":500}`, `{"service_name":"x","instance":"y","status":500}`, `{"status":{"x":1},"took_ms":1}`, `{"status":[1],"took_ms":1}`,
		`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 500 17`, `192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /b HTTP/1.1" 200 - "-" "curl"`,
	})
}

// logfmtMessage is a message of pairs, and of words; those of kind 0 have plain values.
func logfmtMessage(rnd *rand.Rand, kind int) string {
	pairs := []string{
		fmt.Sprintf("status=%d", 200+100*rnd.IntN(4)), "route=" + pick(rnd, []string{"/a", `"/b"`, "", `""`, `"\u002fa"`, "ü"}),
		"took_ms=" + plainNumber(rnd), fmt.Sprintf("wait=%dms", rnd.IntN(4)), fmt.Sprintf("size=%dKB", rnd.IntN(3)),
	}
	if kind > 0 {
		pairs = append(pairs, "value="+oddPairValue(rnd), "level="+pick(rnd, []string{"error", "info"}))
	}
	if kind > 1 {
		pairs = append(pairs, `o="a b=c"`, fmt.Sprintf("a.b=%d", rnd.IntN(3)), "word")
		pairs = slices.DeleteFunc(pairs, func(string) bool { return rnd.IntN(8) == 0 })
	}
	if kind == 3 && rnd.IntN(20) == 0 {
		pairs = append(pairs, pick(rnd, oddPairs()))
	}
	if kind > 0 {
		rnd.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	}
	return strings.Join(pairs, pick(rnd, []string{" ", " ", "  ", "\t"}))
}

// oddPairs are pairs that logfmt finds otherwise than auto, or that are mistakes, and some that look like them.
func oddPairs() []string {
	return []string{
		"o.x=1", "o.x=", `o.x=""`, "o_x=2", "o-x=3", "o.p.q=1", "o.p_q=2", "o..x=3", "o.=4", "a.b=5", "a_b=6", "a.b=", "message.status=7", "message_status=8",
		"took.ms=6", "took-ms=7", "status=201", "status=", `status=""`, "=5", "=", "a=b=c", "status==7", `status=7"`, `status="7"8`, `status="7`, `status="7\"`, `status"=7`, `"status=7"`, `"status"=7`, `msg="status=7"`,
		`msg="a\" status=8"`, "msg=it's", "status = 9", "status= 9", "status =9", "status", "word", "(status=9)", "[status=9]", ",status=9", "status=9,", "@status=9", "größe=1", "5xx=1", "\x01", "a\x01=1", "status=1\x012", "\n", "\r\n",
		"message=status", `message="status=9 took_ms=3"`, `log="status=9"`, `msg="{\"status\":9}"`, `{"status":9}`, "{", "}", "\u00a0status=9", "status\u00a0=9", "status=\u00a09", "\xff=1", "st\xff=1", "took\xffms=9", "status=\xff",
	}
}

// oddPairValue is a value that types and ways of writing make difficult.
func oddPairValue(rnd *rand.Rand) string {
	return pick(rnd, []string{
		"1", "1.0", "1e0", "-0", "-0.0", "0", "0.1", "0.10", "12345678901234567", "9007199254740993", "18446744073709551616", "1e400", "0.000000001", "+5", "007", ".5", "5.", "0x1F", "NaN", "inf", "1_000",
		"null", "true", "false", `"7"`, `"007"`, `"NaN"`, `""`, "", `" 5"`, `"a\"b"`, `"a\nb"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\"`, "\xff", "\"\xff\"", "5s", `"5s"`, "{x}", "a,b", "it's",
		"1", "2", "3", "4.5", "2", fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)),
	})
}
