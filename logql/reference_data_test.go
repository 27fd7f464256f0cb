package logql_test

import (
	"fmt"
	"strings"
	"time"
)

// refRecord is a record of a dataset. Its stream is service_name, level (unknown if it has none) and instance; its metadata is
// detected_level, equal to level, and source. Times are different within a dataset, and multiples of a millisecond.
type refRecord struct {
	At                                     time.Duration // since refStart
	Service, Level, Instance, Source, Line string
}

// refStart is the time of the datasets: all records are in the hour behind it.
func refStart() time.Time { return time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC) }

func (r *refRecord) time() int64 { return refStart().Add(r.At).UnixNano() }

// datasets are the records that the table is evaluated over, in the order of time.
func datasets() map[string][]*refRecord {
	return map[string][]*refRecord{
		"app": lines(appLines), "kv": lines(kvLines), "web": lines(webLines), "misc": lines(miscLines), "fleet": fleetRecords(),
		"odd": lines(oddLines),
	}
}

// lines makes records of lines "MM:SS service/instance level LINE". The source is stderr for errors, otherwise stdout. In LINE,
// \E is an escape character and \N a newline.
func lines(text string) (all []*refRecord) {
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimRight(line, "\n"), " ", 4)
		service, instance, _ := strings.Cut(words[1], "/")
		r := &refRecord{Service: service, Instance: instance, Level: words[2], Source: "stdout"}
		if r.Level == "error" {
			r.Source = "stderr"
		}
		var minutes, seconds int
		if _, err := fmt.Sscanf(words[0], "%d:%d", &minutes, &seconds); err != nil {
			panic(err)
		}
		r.At = time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
		r.Line = strings.NewReplacer(`\E`, "\x1b", `\N`, "\n").Replace(words[3])
		all = append(all, r)
	}
	return all
}

// appLines are JSON: nested objects, arrays, null, keys that collide with each other and with labels, and lines that are
// no JSON objects.
const appLines = `00:00 shop/a-1 info {"msg":"start","port":8080,"tls":false}
00:30 shop/a-1 info {"msg":"GET /cart","status":200,"took":"12ms","size":"1.5KB","user":{"id":"u1","plan":"pro"},"v":3}
01:00 shop/b-2 warn {"msg":"slow","status":200,"took":"1.2s","size":"3MB","user":{"id":"u2","plan":null},"tags":["a","b"],"v":-1.5}
01:30 shop/a-1 error {"msg":"failed","status":500,"took":"250ms","level":"ERROR","error":{"code":17,"stack":["f","g"],"cause":{"msg":"refused"}},"v":10}
02:00 shop/a-1 error panic: not json
02:30 shop/a-1 info {"msg":"GET /","status":404,"took":"3ms","size":"0B","user":{"id":"u1","plan":"free"},"user_id":"twice","v":4}
03:00 shop/b-2 info {"msg":"twice","status":201,"status":202,"took":"62s","v":5}
03:30 shop/b-2 unknown {"a.b":{"c d":1},"1st":"x","ü-n":"y","empty":"","nothing":null}
04:00 shop/a-1 info {"instance":"fake","service_name":"fake","source":"fake","detected_level":"fake","msg":"collides"}
04:30 shop/a-1 debug {"esc":"tab\tquote\" slash\\ uml\u00e4","num":1e3,"neg":-0.50,"yes":true,"big":12345678901234567890}
05:00 shop/a-1 info {"msg":"GET /pay","status":200,"took":"40ms","size":"2KiB","user":{"id":"u3","plan":"pro"},"v":7}
05:30 shop/b-2 warn {"level":"WARN","level_extracted":"second","msg":"slow","status":200,"took":"900ms","v":2}
06:00 pay/a-1 info {"msg":"charged","amount":12.50,"currency":"EUR","card":{"net":"visa","last":[4,2]},"status":200,"v":1}
06:30 pay/a-1 info {"msg":"charged","amount":"7","currency":"USD","card":{"net":"visa"},"status":200,"v":1}
07:00 pay/a-1 error {"msg":"declined","amount":99.99,"currency":"EUR","card":{"net":"amex"},"status":402,"v":0}
07:30 pay/a-1 info {"msg":"charged","amount":"n/a","currency":"EUR","status":200}
08:00 pay/a-1 warn ["no","object"]
08:30 pay/a-1 info {"msg":"charged","amount":1e2,"currency":"USD","card":{"net":"amex","x":[{"y":"deep"},{"y":["z"]}]},"status":200,"v":6}
09:00 shop/b-2 error {"msg":"failed","status":503,"took":"oops","error":{"code":18},"v":"NaN"}
09:30 shop/b-2 info {"msg":"GET /cart","status":200,"took":"18ms","size":"700B","user":{"id":"u2"},"v":8}
10:00 shop/a-1 info {"msg":"GET /cart","status":304,"took":"1ms","user":{"id":"u1","plan":"pro"},"v":9}
11:00 shop/a-1 error {"msg":"failed","status":500,"took":"2m3.5s","error":{"code":17},"v":11}
15:00 shop/a-1 fatal {"msg":"out of memory","status":500}
`

// kvLines are logfmt: quotes, empty values, keys alone, pairs that are not well formed, and text.
const kvLines = `00:10 gate/g-1 info ts=1 msg="hello world" status=200 took=12ms bytes=512 ip=10.0.0.1
00:20 gate/g-1 info msg="say \"hi\" \\ there" status=200 took=15ms bytes=1KB ip=10.0.0.2
00:30 gate/g-1 warn msg=slow status=200 took=1.5s bytes=2MB ip=192.168.7.9 flag other=1
00:40 gate/g-2 error msg="" status=500 took=30s err=timeout ip=10.0.1.7
00:50 gate/g-2 error msg=bad =novalue status=502 took=31s err="no route"
01:00 gate/g-2 info msg=first msg=second status=201 a.b=dotted 9lives=cat
01:10 gate/g-2 info foo=bar=buzz status=202 fo"o=bar after=yes
01:20 gate/g-1 info level=DEBUG instance=other msg=collide status=200 took=10ms
01:30 gate/g-1 unknown just words without pairs
01:40 gate/g-1 info msg=counter total=10 q=1 temp=-3.5
01:50 gate/g-1 info msg=counter total=15 q=2 temp=0
02:00 gate/g-1 info msg=counter total=25 q=3 temp=2.25
02:10 gate/g-1 info msg=counter total=5 q=4 temp=-8
02:20 gate/g-1 info msg=counter total=6 q=5 temp=100
02:30 gate/g-2 info msg=counter total=100 q=10 temp=1
02:40 gate/g-2 info msg=counter total=130 q=20 temp=NaN
03:00 gate/g-2 info msg=counter total=131 q=20 temp=4
03:20 gate/g-1 debug msg=size bytes=1.5KiB took=1h2m3s x=NaN
03:40 gate/g-1 debug msg=size bytes=10B took=5us x=+Inf
04:00 gate/g-1 debug msg=size bytes=many took=long x=1
05:00 gate/g-2 info msg="GET /a b" status=200 took=20ms path="/a b" ip=2001:db8::1
06:00 gate/g-2 info msg=ok status=204 took=25ms ip=10.255.255.254
10:00 gate/g-1 info msg=late status=200 took=1ms q=7
`

// webLines are access logs and a message of several lines.
const webLines = `00:05 edge/n-1 info 10.1.2.3 - - [06/May/2024:12:00:05 +0000] "GET /index.html HTTP/1.1" 200 512 "-" "curl/8.0"
00:15 edge/n-1 info 10.1.2.4 - bob [06/May/2024:12:00:15 +0000] "POST /api/login HTTP/1.1" 302 0 "http://x/" "Mozilla/5.0 (X11)"
00:25 edge/n-1 warn 172.16.0.9 - - [06/May/2024:12:00:25 +0000] "GET /missing?q=1 HTTP/2.0" 404 153 "-" "-"
00:35 edge/n-2 error 2001:db8::5 - - [06/May/2024:12:00:35 +0000] "GET /api/orders HTTP/1.1" 500 23 "-" "Go-http-client/2.0"
00:45 edge/n-2 info 10.1.2.3 - - [06/May/2024:12:00:45 +0000] "GET /static/app.js HTTP/1.1" 200 98304 "-" "curl/8.0"
00:55 edge/n-2 info POST /push (204) 16.6ms
01:05 edge/n-2 info POST /query (200) 1.5s
01:15 edge/n-2 info DELETE /thing (409) 3ms
01:25 edge/n-1 error Traceback:\N  File "x.py", line 1\NValueError: bad
01:35 edge/n-1 info ts=1 caller=http.go:194 level=debug traceID=23e5 msg="POST /push.v1 (200) 12ms"
01:45 edge/n-1 info ts=2 caller=http.go:194 level=info traceID=23e6 msg="GET /ready"
02:00 edge/n-1 info 10.1.2.3 - - [06/May/2024:12:02:00 +0000] "PUT /index.html HTTP/1.1" 201 64 "-" "curl/8.0"
03:00 edge/n-2 warn 192.168.4.70 - - [06/May/2024:12:03:00 +0000] "GET /a%20b HTTP/1.1" 499 0 "-" "curl/7.1"
`

// miscLines have colours, packed lines, addresses, Unicode and values for templates.
const miscLines = `00:01 job/j-1 info \E[32mgreen\E[0m plain \E[1;31mred\E[0m
00:02 job/j-1 info {"container":"api","pod":"api-1","_entry":"user=ann took=5ms n=1"}
00:03 job/j-1 info {"container":"api","pod":"api-2","n":5,"deep":{"x":"y"},"_entry":"{\"user\":\"bob\",\"took\":\"7ms\"}"}
00:04 job/j-2 error {"container":"db","level":"LOUD","_entry":"\u001b[31merror\u001b[0m at 10.0.0.9:5432"}
00:05 job/j-2 warn not packed at all
00:06 job/j-2 info from 192.168.4.5 to 192.168.4.6, done
00:07 job/j-2 info from 10.11.12.13 to 8.8.8.8
00:08 job/j-2 info v6 fe80::1 and 2001:db8:0:1::9
00:09 job/j-2 info no address 1.2.3 here
00:10 job/j-1 info größe=12 Straße ÄÖÜ
00:20 job/j-1 info name=Ann n=7 f=2.5 when=1714996800 url="a b&c=d" b64="aGVsbG8=" list="a,b,a" json={}
00:30 job/j-1 info name=bob n=-3 f=-0.25 when=1714996801 url=x%20y b64="eA==" list="" pad="  in  "
00:40 job/j-1 info name=Zoë n=0 f=1e3 list=aaa
`

// oddLines are JSON and logfmt with mistakes, duplicates and empty values.
const oddLines = `00:00 odd/o-1 info {"msg":"cut","status":200,"took":"2s","o":{"x":1,"l":[{"y":"a"},{"y":"b
00:30 odd/o-1 info {"msg":"comma","status":201,"o":{"x":2,},"l":[1,2],}
01:00 odd/o-1 warn {"msg":"","status":500,"user":"","none":null,"took":"3s"}
01:30 odd/o-2 info {"msg":"cut","status":
02:00 odd/o-2 error {"msg":"mixed","status":503} trailing
02:30 odd/o-2 info [{"status":204},{"status":205
03:00 odd/o-2 info {"status":"","status":202,"user":"ann"}
03:30 odd/o-1 info plain text
04:00 odd/o-1 info msg="open status=200 user=bob
04:30 odd/o-1 info status=301 msg="a"user=eve took=4s
05:00 odd/o-2 warn status=302 status=303 user=x user=
05:30 odd/o-2 info msg="" status=304 flag user=""
06:00 odd/o-2 error a=b=c status=404 "q"=1 =x user=zoe
06:30 odd/o-2 info {"_entry":"status=206 user=\"\"","user":"","pod":"p-1"}
10:00 odd/o-1 info {"msg":"end","status":200,"o":{"x":3},"l":[7],"took":"1s"}
`

// fleetRecords are plain lines of several services, instances and levels, some at the edges of minutes.
func fleetRecords() (all []*refRecord) {
	levels := []string{"info", "info", "warn", "info", "error", "debug", "unknown"}
	for i := range 150 {
		service := []string{"api", "web", "db"}[i*i%3]
		if i%11 == 5 {
			service = "cron"
		}
		r := &refRecord{
			At:       time.Duration(i) * 7500 * time.Millisecond,
			Service:  service,
			Level:    levels[i%len(levels)],
			Instance: fmt.Sprintf("%s-%d", service, i%2),
			Source:   []string{"stdout", "stdout", "stderr"}[i%3],
			Line:     fmt.Sprintf("id=%d shard=%d cost=%d took=%dms path=/p/%d", i, i%4, (i*37)%101, (i*i)%500, i%5),
		}
		all = append(all, r)
	}
	return all
}
