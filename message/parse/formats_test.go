package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/message/parse"
)

// all are the fields of a message, name=value, in their order.
func all(t testing.TB, parser, message string) []string {
	t.Helper()
	p, err := parse.Compile(parser)
	if err != nil {
		t.Fatal(err)
	}
	return allOf(p, message)
}

func allOf(p *parse.Parser, message string) (got []string) {
	s := p.Splitter()
	s.Split(nil, []byte(message))
	for name, v := range s.All() {
		got = append(got, name+"="+string(v.Text))
	}
	return got
}

// Lines written after the format documentation of each project.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{
			"common (Apache)",
			`192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /cart?id=7&x=a HTTP/1.1" 200 5123`,
			`ip=192.0.2.7|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/cart|query=id=7&x=a|protocol=HTTP/1.1|status=200|bytes=5123`,
		},
		{
			"common, nothing known",
			`2001:db8::17 - - [20/Nov/2026:15:04:05 -0330] "-" 408 -`,
			`ip=2001:db8::17|time=20/Nov/2026:15:04:05 -0330|status=408`,
		},
		{
			"common, identity and a name with a space",
			`host.example.org ident7 ann lee [20/Nov/2026:15:04:05 +0000] "HEAD / HTTP/1.0" 304 0`,
			`ip=host.example.org|ident=ident7|user=ann lee|time=20/Nov/2026:15:04:05 +0000|method=HEAD|path=/|protocol=HTTP/1.0|status=304|bytes=0`,
		},
		{
			"combined (nginx)",
			`198.51.100.4 - - [20/Nov/2026:15:04:05 +0100] "POST /api/v1/pay HTTP/2.0" 503 197 "https://shop.example/cart" "Mozilla/5.0 (X11; Linux x86_64) \"x\" caf\xC3\xA9"`,
			`ip=198.51.100.4|time=20/Nov/2026:15:04:05 +0100|method=POST|path=/api/v1/pay|protocol=HTTP/2.0|status=503|bytes=197|referer=https://shop.example/cart|user_agent=Mozilla/5.0 (X11; Linux x86_64) "x" café`,
		},
		{
			"combined, what nginx's packages log",
			`198.51.100.4 - - [20/Nov/2026:15:04:05 +0100] "GET / HTTP/1.1" 200 612 "-" "curl/8.5.0" "203.0.113.9, 10.0.0.7:4711, 2001:db8::1"`,
			`ip=198.51.100.4|time=20/Nov/2026:15:04:05 +0100|method=GET|path=/|protocol=HTTP/1.1|status=200|bytes=612|user_agent=curl/8.5.0|http_x_forwarded_for=203.0.113.9, 10.0.0.7:4711, 2001:db8::1`,
		},
		{
			"combined with a virtual host and a port in front, microseconds at the end",
			`shop.example:443 192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "-" 1834`,
			`vhost=shop.example|port=443|ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|duration=1834`,
		},
		{
			"common, an escape that is cut off",
			`192.0.2.7 - ann\ [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`ip=192.0.2.7|user=ann\|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"combined with a virtual host and the request time",
			`shop.example 192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "curl" 0.024`,
			`vhost=shop.example|ip=192.0.2.7|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|user_agent=curl|duration=0.024`,
		},
		{
			"combinedio (Apache)",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "curl" 412 733`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|user_agent=curl|bytes_received=412|bytes_sent=733`,
		},
		{
			"combined with named times",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "curl" rt=0.005 uct="0.000" urt="0.004"`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|user_agent=curl|rt=0.005|uct=0.000|urt=0.004`,
		},
		{
			"common with the request time",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 0.115`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|duration=0.115`,
		},
		{
			"behind a syslog header",
			`<190>Nov 20 15:04:05 web1 nginx: 192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`host=web1|app=nginx|ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"behind the header of RFC 5424",
			`<190>1 2026-11-20T15:04:05Z web1 nginx 77 - - ::ffff:192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`host=web1|app=nginx|pid=77|ip=::ffff:192.0.2.7|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"behind a tag",
			`nginx: 192.0.2.7 - ann lee [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`ip=192.0.2.7|user=ann lee|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"behind what Docker Compose writes",
			`web-1  | 2001:db8:0:0:0:0:0:7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`ip=2001:db8:0:0:0:0:0:7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"a virtual host before a client's name",
			`shop.example:80 client.example - ann [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99`,
			`vhost=shop.example|port=80|ip=client.example|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"a virtual host that is an address, a number of columns that are not known",
			`192.0.2.1 192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "-" 412 733 "192.0.2.8"`,
			`vhost=192.0.2.1|ip=192.0.2.7|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99`,
		},
		{
			"no identity, a number and a column that are not of ingress-nginx",
			`192.0.2.7 ann [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "-" 12 abc [x]`,
			`ip=192.0.2.7|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|duration=12`,
		},
		{
			"cut inside a value in quotes",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 99 "-" "-" 12 rt=0.1 urt="0.1, 0.2 …[logstow: cut 9 bytes]`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|protocol=HTTP/1.1|status=200|bytes=99|rt=0.1`,
		},
		{"klog, cut", `E1120 15:04:05.123456   12 …[logstow: cut 9 bytes]`, `severity=E|time=1120 15:04:05.123456`},
		{
			"binary request",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "\x16\x03\x01\x02\x00" 400 150 "-" "-"`,
			"ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|request=\x16\x03\x01\x02\x00|status=400|bytes=150",
		},
		{
			"raw bytes, a space in the path, a quote that is not escaped",
			"192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] \"GET /\xff\x00 b\"c?d e HTTP/1.1\" 400 150",
			"ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/\xff\x00 b\"c|query=d e|protocol=HTTP/1.1|status=400|bytes=150",
		},
		{
			"a proxy's request",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET http://a.example:8080/p?q HTTP/1.1" 200 1`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|host=a.example:8080|path=/p|query=q|protocol=HTTP/1.1|status=200|bytes=1`,
		},
		{
			"HTTP/0.9",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /old" 200 1`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/old|status=200|bytes=1`,
		},
		{
			"missing columns, and the end of a line from Windows",
			"192.0.2.7 [20/Nov/2026:15:04:05 +0000] \"GET /a?\" 200\r\n",
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a|status=200`,
		},
		{
			"ingress-nginx",
			`203.0.113.9 - - [20/Nov/2026:15:04:05 +0000] "GET /api/orders?page=2 HTTP/1.1" 502 552 "https://shop.example/" "curl/8.5.0" 417 1.204 [shop-orders-http] [] 10.1.0.7:8080, 10.1.0.8:8080 0, 552 0.602, 0.601 502, 502 6f1a5b3c9d`,
			`ip=203.0.113.9|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/api/orders|query=page=2|protocol=HTTP/1.1|status=502|bytes=552|referer=https://shop.example/|user_agent=curl/8.5.0|request_length=417|duration=1.204|proxy_upstream_name=shop-orders-http|upstream_addr=10.1.0.7:8080, 10.1.0.8:8080|upstream_response_length=0, 552|upstream_response_time=0.602, 0.601|upstream_status=502, 502|req_id=6f1a5b3c9d`,
		},
		{
			"ingress-nginx without an upstream",
			`203.0.113.9 - ann [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 404 19 "-" "-" 80 0.000 [upstream-default-backend] [canary] - - - - 0a1b`,
			`ip=203.0.113.9|user=ann|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/|protocol=HTTP/1.1|status=404|bytes=19|request_length=80|duration=0.000|proxy_upstream_name=upstream-default-backend|proxy_alternative_upstream_name=canary|req_id=0a1b`,
		},
		{
			"ingress-nginx before there was an alternative upstream, redirected inside",
			`203.0.113.9 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 19 "-" "-" 80 0.010 [a-b-80] 10.1.0.7:80 : 10.1.0.8:80 0 : 19 0.004 : 0.005 404 : 200 77`,
			`ip=203.0.113.9|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/|protocol=HTTP/1.1|status=200|bytes=19|request_length=80|duration=0.010|proxy_upstream_name=a-b-80|upstream_addr=10.1.0.7:80 : 10.1.0.8:80|upstream_response_length=0 : 19|upstream_response_time=0.004 : 0.005|upstream_status=404 : 200|req_id=77`,
		},
		{
			"Envoy",
			`[2026-11-20T15:04:05.310Z] "POST /api/v1/locations?x=1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "locate/1.0" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "10.0.2.1:80"`,
			`start_time=2026-11-20T15:04:05.310Z|method=POST|path=/api/v1/locations|query=x=1|protocol=HTTP/2|status=204|bytes_received=154|bytes=0|duration=226|x_envoy_upstream_service_time=100|x_forwarded_for=10.0.35.28|user_agent=locate/1.0|x_request_id=cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2|authority=locations|upstream_host=10.0.2.1:80`,
		},
		{
			"Envoy, TCP",
			`[2026-11-20T15:04:05.310Z] "- - -" 0 UF,URX 12 34 5000 - "-" "-" "-" "-" "[2001:db8::2]:5432"`,
			`start_time=2026-11-20T15:04:05.310Z|status=0|response_flags=UF,URX|bytes_received=12|bytes=34|duration=5000|upstream_host=[2001:db8::2]:5432`,
		},
		{
			"HAProxy",
			`10.0.1.2:33317 [20/Nov/2026:15:04:05.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {shop.example|curl} {} "GET /index.html?a=#22b#22 HTTP/1.1"`,
			`ip=10.0.1.2|client_port=33317|request_date=20/Nov/2026:15:04:05.655|frontend_name=http-in|backend_name=static|server_name=srv1|TR=10|Tw=0|Tc=30|Tr=69|duration=109|status=200|bytes=2750|termination_state=----|actconn=1|feconn=1|beconn=1|srv_conn=1|retries=0|srv_queue=0|backend_queue=0|captured_request_headers=shop.example|curl|method=GET|path=/index.html|query=a="b"|protocol=HTTP/1.1`,
		},
		{
			"HAProxy behind a syslog header, logged as soon as possible, no server, IPv6",
			`<134>Nov 20 15:04:05 lb1 haproxy[14389]: 2001:db8::7:33317 [20/Nov/2026:15:04:05.655] https~ api/<NOSRV> 0/-1/-1/-1/+2 503 +212 sid=7 - SC-- 9/8/7/0/+3 0/1 "POST /p HTTP/1.1"`,
			`host=lb1|app=haproxy|pid=14389|ip=2001:db8::7|client_port=33317|request_date=20/Nov/2026:15:04:05.655|frontend_name=https~|backend_name=api|server_name=<NOSRV>|TR=0|Tw=-1|Tc=-1|Tr=-1|duration=2|status=503|bytes=212|captured_request_cookie=sid=7|termination_state=SC--|actconn=9|feconn=8|beconn=7|srv_conn=0|retries=3|srv_queue=0|backend_queue=1|method=POST|path=/p|protocol=HTTP/1.1`,
		},
		{
			"HAProxy, RFC 5424, a request that is none",
			`<134>1 2026-11-20T15:04:05.817934+02:00 - haproxy 266980 - - 10.0.1.2:1 [20/Nov/2026:15:04:05.655] fe fe/<NOSRV> -1/-1/-1/-1/0 400 187 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"`,
			`app=haproxy|pid=266980|ip=10.0.1.2|client_port=1|request_date=20/Nov/2026:15:04:05.655|frontend_name=fe|backend_name=fe|server_name=<NOSRV>|TR=-1|Tw=-1|Tc=-1|Tr=-1|duration=0|status=400|bytes=187|termination_state=PR--|actconn=1|feconn=1|beconn=0|srv_conn=0|retries=0|srv_queue=0|backend_queue=0|request=<BADREQ>`,
		},
		{
			"AWS ALB",
			`https 2026-11-20T15:04:05.186641Z app/shop/50dc6c495c0c9188 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 201 39 57 "GET https://shop.example:443/cart?id=7 HTTP/1.1" "curl/8.5.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "shop.example" "arn:aws:acm:us-east-2:123456789012:certificate/1" 1 2026-11-20T15:04:04.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "201" "-" "-" TID_1234abcd5678ef90`,
			`type=https|time=2026-11-20T15:04:05.186641Z|elb=app/shop/50dc6c495c0c9188|ip=192.0.2.7|client_port=2817|target_ip=10.0.0.1|target_port=80|request_processing_time=0.086|target_processing_time=0.048|response_processing_time=0.037|status=200|target_status_code=201|received_bytes=39|bytes=57|method=GET|host=shop.example:443|path=/cart|query=id=7|protocol=HTTP/1.1|user_agent=curl/8.5.0|ssl_cipher=ECDHE-RSA-AES128-GCM-SHA256|ssl_protocol=TLSv1.2|target_group_arn=arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067|trace_id=Root=1-58337281-1d84f3d73c47ec4e58577259|domain_name=shop.example|chosen_cert_arn=arn:aws:acm:us-east-2:123456789012:certificate/1|matched_rule_priority=1|request_creation_time=2026-11-20T15:04:04.364000Z|actions_executed=authenticate,forward|target_port_list=10.0.0.1:80|target_status_code_list=201|conn_trace_id=TID_1234abcd5678ef90`,
		},
		{
			"AWS ALB before there were redirects; no target",
			`h2 2026-11-20T15:04:05.186641Z app/shop/50dc [2001:db8::7]:2817 - -1 -1 -1 502 - 0 610 "GET https://shop.example:443/ HTTP/2.0" "a \x22b\x22" - - - "Root=1-58" "-" "-" 0 2026-11-20T15:04:04.364000Z "forward"`,
			`type=h2|time=2026-11-20T15:04:05.186641Z|elb=app/shop/50dc|ip=2001:db8::7|client_port=2817|request_processing_time=-1|target_processing_time=-1|response_processing_time=-1|status=502|received_bytes=0|bytes=610|method=GET|host=shop.example:443|path=/|protocol=HTTP/2.0|user_agent=a "b"|trace_id=Root=1-58|matched_rule_priority=0|request_creation_time=2026-11-20T15:04:04.364000Z|actions_executed=forward`,
		},
		{
			"klog",
			`E1120 15:04:05.123456   12345 controller.go:116] failed to sync: timeout`,
			`severity=E|time=1120 15:04:05.123456|thread=12345|file=controller.go|line=116|message=failed to sync: timeout`,
		},
		{
			"klog, structured, several lines",
			"I1120 15:04:05.123456       1 pods.go:7] \"Pod status\" pod=\"kube-system/dns\" ready=true\nmore x=y",
			"severity=I|time=1120 15:04:05.123456|thread=1|file=pods.go|line=7|message=\"Pod status\" pod=\"kube-system/dns\" ready=true\nmore x=y|pod=kube-system/dns|ready=true|x=y",
		},
		{
			"klog with JSON, a message of one dash",
			`W1120 15:04:05.123456       1 pods.go:7] {"a":{"b":1}}`,
			`severity=W|time=1120 15:04:05.123456|thread=1|file=pods.go|line=7|message={"a":{"b":1}}|a={"b":1}|a.b=1`,
		},
		{"klog without a line number", `W1120 15:04:05.123456 1 p.go:] x`, `severity=W|time=1120 15:04:05.123456|thread=1|file=p.go|message=x`},
		{"klog, no line number", `W1120 15:04:05.123456 1 p.go:a7] x`, `severity=W|time=1120 15:04:05.123456|thread=1|file=p.go`},
		{"klog, a dash", `W1120 15:04:05.123456 1 p.go:7] -`, `severity=W|time=1120 15:04:05.123456|thread=1|file=p.go|line=7|message=-`},
		{"JSON", `{"status":503,"request":"GET / HTTP/1.1"}`, `status=503|request=GET / HTTP/1.1`},
		{"logfmt", `level=warn status=404 path="/a b"`, `level=warn|status=404|path=/a b`},
		{"text", `[INFO] [main] nothing here [20/Nov] of [20/Nov/2026:15:04:05 +0000] use`, ``},
		{
			"HAProxy, TCP",
			`10.0.1.2:33313 [20/Nov/2026:15:04:05.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0`,
			`ip=10.0.1.2|client_port=33313|request_date=20/Nov/2026:15:04:05.443|frontend_name=fnt|backend_name=bck|server_name=srv1`,
		},
		{
			"more than a protocol in a request",
			`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1 b" 400 1`,
			`ip=192.0.2.7|time=20/Nov/2026:15:04:05 +0000|method=GET|path=/a HTTP/1.1 b|status=400|bytes=1`,
		},
		{"HAProxy, an error", `10.0.1.2:1 [20/Nov/2026:15:04:05.655] http-in: SSL handshake failure`, ``},
		{"no day", `a - - [xx/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 1`, ``},
		{"no request behind a time", `[2026-11-20T15:04:05.310Z] "hello, world" 200`, ``},
		{"a text with a time", `[2026-11-20T15:04:05.310Z] "A word" was said`, ``},
		{"access logs behind the first line", "a\n b:1 [20/Nov/2026:15:04:05.123] fe be/srv 1\n - - [20/Nov/2026:15:04:05 +0000] \"GET\"", ``},
		{"an access log in a mark", "a …[logstow: - - [20/Nov/2026:15:04:05 +0000]", ``},
		{"empty", ``, ``},
	} {
		if got := strings.Join(all(t, "auto", c.line), "|"); got != c.want {
			t.Errorf("%s: %s\n%s", c.name, c.line, cmp.Diff(strings.Split(c.want, "|"), strings.Split(got, "|")))
		}
		if got := all(t, "none", c.line); len(got) > 0 {
			t.Errorf("%s: fields %q with none", c.name, got)
		}
	}
}
