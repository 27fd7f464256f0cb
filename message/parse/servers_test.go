package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/message/parse"
)

// The logs of servers, proxies and daemons, with what their documentation says of each column.
func TestServerFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{
			"nginx error, all of the list",
			`2026/11/20 16:04:05 [error] 1234#5678: *90 open() "/srv/a, b" failed (2: No such file or directory), client: 192.0.2.7, server: shop.example, request: "GET /a?x=1 HTTP/1.1", upstream: "http://10.0.0.7:80/a?x=1", host: "shop.example:8080", referrer: "https://r.example/"`,
			`time=2026/11/20 16:04:05|severity=error|pid=1234|tid=5678|connection=90|message=open() "/srv/a, b" failed (2: No such file or directory)|ip=192.0.2.7|server=shop.example|method=GET|path=/a|query=x=1|protocol=HTTP/1.1|upstream=http://10.0.0.7:80/a?x=1|host=shop.example:8080|referer=https://r.example/`,
		},
		{
			"nginx error, no connection",
			`2026/11/20 16:04:05 [notice] 1#1: using the "epoll" event method`,
			`time=2026/11/20 16:04:05|severity=notice|pid=1|tid=1|message=using the "epoll" event method`,
		},
		{
			"nginx error, cut in the request",
			`2026/11/20 16:04:05 [crit] 7#7: *1 x, client: 2001:db8::7, server: _, request: "GET /a …[logstow: cut 9 bytes]`,
			`time=2026/11/20 16:04:05|severity=crit|pid=7|tid=7|connection=1|message=x|ip=2001:db8::7|server=_|method=GET`,
		},
		{
			"Apache 2.4 error",
			`[Fri Nov 20 16:04:05.123456 2026] [core:error] [pid 1234:tid 139] [client 192.0.2.7:5678] AH00128: File does not exist: /srv/x, referer: http://r.example/a`,
			`time=Fri Nov 20 16:04:05.123456 2026|module=core|severity=error|pid=1234|tid=139|ip=192.0.2.7|client_port=5678|apache_code=AH00128|message=File does not exist: /srv/x|referer=http://r.example/a`,
		},
		{
			"Apache 2.2 error, IPv6",
			`[Fri Nov 20 16:04:05 2026] [error] [client 2001:db8::7] user x not found: /y`,
			`time=Fri Nov 20 16:04:05 2026|severity=error|ip=2001:db8::7|message=user x not found: /y`,
		},
		{
			"Apache, ModSecurity",
			`[Fri Nov 20 16:04:05.123456 2026] [:error] [pid 12] [client 192.0.2.7] ModSecurity: Access denied, status=403`,
			`time=Fri Nov 20 16:04:05.123456 2026|severity=error|pid=12|ip=192.0.2.7|message=ModSecurity: Access denied, status=403|status=403`,
		},
		{
			"Istio",
			`[2026-11-20T15:04:05.123Z] "GET /status/418?a=b HTTP/1.1" 418 - via_upstream - "-" 0 135 4 3 "-" "curl/8.5.0" "84961386-6d84" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default`,
			`start_time=2026-11-20T15:04:05.123Z|method=GET|path=/status/418|query=a=b|protocol=HTTP/1.1|status=418|response_code_details=via_upstream|bytes_received=0|bytes=135|duration=4|x_envoy_upstream_service_time=3|user_agent=curl/8.5.0|x_request_id=84961386-6d84|authority=httpbin:8000|upstream_host=127.0.0.1:80|upstream_cluster=inbound|8000|||upstream_local_address=127.0.0.1:41854|downstream_local_address=10.44.1.27:80|ip=10.44.1.23|client_port=37652|requested_server_name=outbound_.8000_._.httpbin.foo.svc.cluster.local|route_name=default`,
		},
		{
			"Istio, no upstream",
			`[2026-11-20T15:04:05.123Z] "POST /p HTTP/2" 503 UF,URX upstream_reset_before_response_started{connection_failure} - "delayed connect error: 111" 0 91 12 - "-" "-" "1f" "a:80" "10.0.0.2:80" outbound|80||a - 10.0.0.3:80 10.0.0.4:5 - default`,
			`start_time=2026-11-20T15:04:05.123Z|method=POST|path=/p|protocol=HTTP/2|status=503|response_flags=UF,URX|response_code_details=upstream_reset_before_response_started{connection_failure}|upstream_transport_failure_reason=delayed connect error: 111|bytes_received=0|bytes=91|duration=12|x_request_id=1f|authority=a:80|upstream_host=10.0.0.2:80|upstream_cluster=outbound|80||a|downstream_local_address=10.0.0.3:80|ip=10.0.0.4|client_port=5|route_name=default`,
		},
		{
			"S3",
			`79a5 bucket-1 [20/Nov/2026:16:04:05 +0000] 192.0.2.3 arn:aws:iam::1:user/a 3E57427F3 REST.GET.OBJECT a/b.png "GET /bucket-1/a/b.png?x HTTP/1.1" 404 NoSuchKey 243 - 7 6 "-" "S3Console/0.4" - s9lz= SigV4 ECDHE-RSA AuthHeader bucket-1.s3.amazonaws.com TLSv1.2 - -`,
			`bucket_owner=79a5|bucket=bucket-1|time=20/Nov/2026:16:04:05 +0000|ip=192.0.2.3|requester=arn:aws:iam::1:user/a|request_id=3E57427F3|operation=REST.GET.OBJECT|key=a/b.png|method=GET|path=/bucket-1/a/b.png|query=x|protocol=HTTP/1.1|status=404|error_code=NoSuchKey|bytes=243|duration=7|turn_around_time=6|user_agent=S3Console/0.4|host_id=s9lz=|signature_version=SigV4|cipher_suite=ECDHE-RSA|authentication_type=AuthHeader|host=bucket-1.s3.amazonaws.com|tls_version=TLSv1.2`,
		},
		{
			"Squid",
			`1795190645.123    180 192.0.2.7 TCP_MISS/200 411 GET http://a.example:81/p?q=1 ann HIER_DIRECT/10.0.0.1 text/html`,
			`time=1795190645.123|duration=180|ip=192.0.2.7|result=TCP_MISS|status=200|bytes=411|method=GET|host=a.example:81|path=/p|query=q=1|user=ann|hierarchy=HIER_DIRECT|peer=10.0.0.1|content_type=text/html`,
		},
		{
			"Squid, a tunnel",
			`1795190645.123  60021 192.0.2.7 TCP_TUNNEL/200 3901 CONNECT a.example:443 - HIER_NONE/- -`,
			`time=1795190645.123|duration=60021|ip=192.0.2.7|result=TCP_TUNNEL|status=200|bytes=3901|method=CONNECT|host=a.example:443|hierarchy=HIER_NONE`,
		},
		{
			"PHP-FPM",
			`192.0.2.7 -  20/Nov/2026:15:04:05 +0000 "GET /index.php?a" 200`,
			`ip=192.0.2.7|date=20/Nov/2026:15:04:05|zone=+0000|method=GET|path=/index.php|query=a|status=200`,
		},
		{
			"Gin",
			`[GIN] 2026/11/20 - 15:04:05 | 404 |     123.4µs |       192.0.2.7 | GET      "/ping?x=1"`,
			`time=2026/11/20 - 15:04:05|status=404|duration=123.4µs|ip=192.0.2.7|method=GET|path=/ping|query=x=1`,
		},
		{
			"Django's server",
			`[20/Nov/2026 15:04:05] "GET /missing HTTP/1.1" 404 179`,
			`time=20/Nov/2026 15:04:05|method=GET|path=/missing|protocol=HTTP/1.1|status=404|bytes=179`,
		},
		{
			"App Service",
			`2026-11-20T16:04:05  PID[1234] Error       The order failed: id=7`,
			`time=2026-11-20T16:04:05|pid=1234|severity=Error|message=The order failed: id=7|id=7`,
		},
		{
			"RFC 5424, structured data",
			`<165>1 2026-11-20T16:04:05.003Z host1 app 1234 ID47 [ex@32473 iut="3" source="a \"b\""][id@1 x="1"] text k=v`,
			`host=host1|app=app|pid=1234|msgid=ID47|iut=3|source=a "b"|x=1|k=v`,
		},
		{
			"RFC 5424, nothing known, JSON",
			`<14>1 - - - - - - {"a":1}`,
			`a=1`,
		},
		{
			"RFC 3164",
			`<38>Nov 20 16:04:05 web1 sshd[812]: session opened for user root(uid=0) by (uid=1000)`,
			`host=web1|app=sshd|pid=812|uid=0|uid=1000`,
		},
		{"a file of rsyslog", `Nov  2 06:04:05 web1 systemd[1]: Started a.`, `host=web1|app=systemd|pid=1`},
		{"rsyslog, RFC 3339", `2026-11-20T16:04:05.123456+01:00 web1 postfix/smtpd[9]: connect from x`, `host=web1|app=postfix/smtpd|pid=9`},
		{"the kernel", `Nov 20 16:04:05 web1 kernel: [12.5] eth0: IN=eth0 OUT= SRC=10.0.0.1`, `host=web1|app=kernel|IN=eth0|OUT=|SRC=10.0.0.1`},
		{"Junos", `<30>Nov 20 16:04:05 2026  r1 mgd[12]: UI_X: a`, `host=r1|app=mgd|pid=12`},
		{"AIX", `<13>Nov 20 16:04:05 Message forwarded from lpar7: sshd[123]: ok`, `host=lpar7|app=sshd|pid=123`},
		{"AIX, a relay's host, no tag", `Nov 20 16:04:05 hmc Message forwarded from lpar7: all is well`, `host=lpar7`},
		{"no host", `<13>Nov 20 16:04:05 app[7]: x`, `app=app|pid=7`},
		{"JSON behind a header", `Nov 20 16:04:05 web1 api[7]: {"status":500,"app":"other"}`, `host=web1|app=api|pid=7|status=500|app=other`},
		{"a program's own time and level", `2026-11-20T16:04:05Z INFO main: took=5ms`, `took=5ms`},
		{"a program's own time, level and process", `2026-11-20T16:04:05Z INFO app[7]: took=5ms`, `took=5ms`},
		{"prose behind a time", `Nov 20 16:04:05 the server said: no`, ``},
		{"a priority alone", `<13>`, ``},
		{"a time alone", `Nov 20 16:04:05 `, ``},
	} {
		if got := strings.Join(all(t, "auto", c.line), "|"); got != c.want {
			t.Errorf("%s: %s\n%s", c.name, c.line, cmp.Diff(strings.Split(c.want, "|"), strings.Split(got, "|")))
		}
	}
}

// No prefix of a line makes a parser panic, or finds a value that the line does not have.
func TestServerFormatsCut(t *testing.T) {
	t.Parallel()
	p := parse.Auto()
	for _, line := range []string{
		`2026/11/20 16:04:05 [error] 1234#5678: *90 x, client: 192.0.2.7, server: a, request: "GET /a HTTP/1.1", host: "b"`,
		`[Fri Nov 20 16:04:05.123456 2026] [core:error] [pid 1234:tid 139] [client 192.0.2.7:5678] AH00128: x, referer: y`,
		`79a5 b [20/Nov/2026:16:04:05 +0000] 192.0.2.3 - 3E REST.GET.OBJECT k "GET /k HTTP/1.1" 200 - 1 1 7 6 "-" "-" -`,
		`[GIN] 2026/11/20 - 15:04:05 | 404 |     123.4µs |       192.0.2.7 | GET      "/ping?x=1"`,
		`192.0.2.7 - ann 20/Nov/2026:15:04:05 +0000 "GET /index.php?a" 200`,
		`[GIN] 2026/11/20 - 15:04:05 | 404 |     123.4µs |       192.0.2.7 | GET      "/ping?x=1"`,
		`192.0.2.7 - ann 20/Nov/2026:15:04:05 +0000 "GET /index.php?a" 200`,
		`1795190645.123    180 192.0.2.7 TCP_MISS/200 411 GET http://a.example/p ann HIER_DIRECT/10.0.0.1 text/html`,
		`2026-11-20T16:04:05  PID[1234] Error       The order failed`,
		`<165>1 2026-11-20T16:04:05.003Z host1 app 1234 ID47 [ex@32473 iut="3"] text`,
		`<38>Nov 20 16:04:05 web1 sshd[812]: text`,
	} {
		for n := range line {
			for _, text := range []string{line[:n], line[:n] + " …[logstow: cut 9 bytes]", "<1>" + line[n:], line[n:]} {
				allOf(p, text)
				p.Leveler().Level([]byte(text))
			}
		}
	}
}
