package recognize_test

import (
	"testing"

	"logstow/message/parse"
	"logstow/record"
	"logstow/record/recognize"
)

const when = "2026-11-20T15:04:05Z"

// One line of each format that logs really use.
func TestFormats(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		// syslog
		{"Nov 20 15:04:05 combo sshd(pam_unix)[19939]: authentication failure; logname= uid=0", when, record.None},
		{"Nov 20 15:04:05 LabSZ sshd[24200]: error: Received disconnect from 1.2.3.4", when, record.Error},
		{"Nov 20 15:04:05 combo xinetd[12]: warning: can't get client address", when, record.Warn},
		{"Nov 20 15:04:05 combo kernel: no error found", when, record.None},
		{"Nov 20 15:04:05 host NetworkManager[1]: <info>  [1795187045.1234] up", when, record.Info},
		{"Nov 20 15:04:05 host app[1]: level=error msg=x", when, record.Error},
		{`Nov 20 15:04:05 host app[1]: {"level":"warn","time":"2020-01-01T00:00:00Z"}`, when, record.Warn},
		{"<34>Nov 20 15:04:05 mymachine su: 'su root' failed for lonvick", when, record.Fatal},
		{"<165>1 2026-11-20T15:04:05.000Z host app 8710 ID47 - INFO hello", when, record.Info},
		{"<11>1 2026-11-20T15:04:05Z - - - - - hello", when, record.Error},
		{"2026-11-20T15:04:05.000000+00:00 combo sshd[123]: fatal: Write failed", when, record.Fatal},
		{"2026-11-20T15:04:05+00:00 combo CRON[123]: (root) CMD (x)", when, record.None},
		{"<6>hello", "", record.Info},
		{"<999>hello", "", record.None},
		// sanitizers
		{"==================\nWARNING: DATA RACE\nWrite at 0x00c0000b4010 by goroutine 7:", "", record.Warn},
		{"=================================================================\r\n==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020", "", record.Error},
		{"==4711==ERROR: LeakSanitizer: detected memory leaks", "", record.Error},
		{"/src/shop.c:7:10: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'", "", record.Error},
		{"the runtime error: of prose", "", record.None},
		// Windows, Unreal Engine
		{`<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='Shop'/><EventID>7</EventID><Level>2</Level><TimeCreated SystemTime='2026-11-20T15:04:05.0000000Z'/></System></Event>`, when, record.Error},
		{`<13><Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event"><System><Level>0</Level><TimeCreated SystemTime="2026-11-20T15:04:05Z" /></System></Event>`, when, record.Info},
		{"<Event of no kind> ERROR", "", record.None},
		{"[2026.11.20-15.04.05:000][  0]LogTemp: Warning: text", when, record.Warn},
		{"[2026.11.20-15.04.05:000][123]LogNet: Error: text", when, record.Error},
		{"[2026.11.20-15.04.05:000][123]LogInit: Build: text", when, record.None},
		{"2026-11-20-15:04:05 ERROR text", when, record.Error},
		{"2026-11-20-15:04:05.000+0000 ERROR text", when, record.Error},
		// JSON of proxies
		{`{"msec":"1795187045.000","status":"200"}`, when, record.None},
		{`{"request_time":"0.003","msec":1795187045.000,"level":"warn"}`, when, record.Warn},
		{`{"msec":12,"level":"warn"}`, "", record.Warn},
		{`{"start_time":"2026-11-20T15:04:05.000Z","duration":7,"level":"warn"}`, when, record.Warn},
		{`{"start_time":"2026-11-20T14:00:00.000Z","time":"2026-11-20T15:04:05Z","level":"warn"}`, when, record.Warn},
		{`{"latencies":{"request":7},"started_at":1795187045000}`, when, record.None},
		{`{"started_at":1795187000000,"ts":1795187045}`, when, record.None},
		// databases, game servers
		{"2026-11-20T16:04:05.000+0100 I  NETWORK  [conn1] end connection 127.0.0.1:1", when, record.Info},
		{"2026-11-20T16:04:05.000+0100 F  -        [conn1] Invariant failure x", when, record.Fatal},
		{"2026-11-20 15:04:05.00 Logon       Error: 18456, Severity: 14, State: 8.", when, record.Error},
		{"2026-11-20 15:04:05.00 Logon       Login failed for user 'sa'. Error: none", when, record.None},
		{"[ns_server:error,2026-11-20T15:04:05.000Z,ns_1@127.0.0.1:ns_log<0.1.0>:ns_log:log:7]text", when, record.Error},
		{"[2026-11-20 15:04:05.000000] E [MSGID: 7] [x.c:7:f] 0-volume: text", when, record.Error},
		{"[2026-11-20 15:04:05.000000] W [rpc-clnt.c:362:f] 0-volume: text", when, record.Warn},
		{`L 11/20/2026 - 15:04:05: "ann<7><[U:1:7]><CT>" killed "bob"`, when, record.None},
		{"2026/11/20 15:04:05 [Recovery] 2026/11/20 - 15:04:05 panic recovered:\nboom", when, record.Error},
		{"Exception in thread Thread-1 (f):\nTraceback (most recent call last):", "", record.Error},
		{"Exception ignored in: <function Shop.__del__ at 0x7f>\nTraceback (most recent call last):", "", record.Error},
		{"  File \"/app/shop.py\", line 7\n    def f(\nSyntaxError: '(' was never closed", "", record.Error},
		{"terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom", "", record.Error},
		{"#\n# A fatal error has been detected by the Java Runtime Environment:\n#", "", record.Error},
		{"# A comment", "", record.None},
		// monitoring, network devices
		{"[2026-11-20 15:04:05 +0000] critical/ApiListener: Cannot connect", when, record.Fatal},
		{"[2026-11-20 15:04:05 +0000] information/cli: Icinga", when, record.Info},
		{"2026-11-20 15:04:05 error/log.txt was read", when, record.None},
		{"Nov 20 2026 16:04:05+01:00 sw %%01IFNET/4/LINK_STATE(l)[7]:The line protocol changed", when, record.Warn},
		{"RP/0/RSP0/CPU0:Nov 20 15:04:05.000 : ifmgr[7]: %PKT_INFRA-LINK-3-UPDOWN : Interface changed state", when, record.Error},
		{"2026 Nov 20 15:04:05 sw %$ VDC-1 %$ %ETHPORT-5-IF_UP: Interface is up", when, record.Info},
		{"Nov 20 15:04:05 f5 err mcpd[7]: 01070734:3: Configuration error", when, record.Error},
		{"W 11/20/26 15:04:05 00332 FFI: port 1-High collision", when, record.Warn},
		{"nov/20/2026 15:04:05 system,error,critical login failure", when, record.Fatal},
		{"Nov-20 15:04:05.000 [main] ERROR nextflow.cli.Launcher - failed", when, record.Error},
		{"error [2026-11-20 16:04:05.000 +01:00] failed                 caller=\"x.go:7\"", when, record.Error},
		{"error [3 of them] in prose", "", record.None},
		{"(W) 2026-11-20T15:04:05 - text", when, record.Warn},
		{"(W) 7 of them", "", record.None},
		{"100% of FOO-3-BAR: text", "", record.None},
		{"error\t20-Nov-2026 15:04:05\tBuild failed", when, record.Error},
		{"build\t20-Nov-2026 15:04:05\tno error", when, record.None},
		{"log\tof a ship", "", record.None},
		{"Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):", "", record.Error},
		{"[UTC Nov 20 15:04:05] error    : 'x' process is not running", when, record.Error},
		{"[CEST Nov 20 17:04:05] info     : 'x' started", when, record.Info},
		// web servers
		{`127.0.0.1 - frank [20/Nov/2026:10:04:05 -0500] "GET /errors/list HTTP/1.0" 200 2326`, when, record.Info},
		{`127.0.0.1 - - [20/Nov/2026:10:04:05 -0500] "GET /ERROR HTTP/1.0" 500 2326`, when, record.Error},
		{`www.example.com:80 2001:db8::1 - frank [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.0" 200 1`, when, record.Info},
		{`10.0.0.1, 10.0.0.2 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.0" 200 1`, when, record.Info},
		{"[Fri Nov 20 15:04:05 2026] [notice] workerEnv.init() ok /etc/httpd", when, record.Info},
		{"[Fri Nov 20 15:04:05.000000 2026] [core:error] [pid 1:tid 2] AH00126: x", when, record.Error},
		{"[Fri Nov 20 15:04:05 2026] [client 1.2.3.4] error here", when, record.None},
		{"2026/11/20 15:04:05 [error] 1234#0: *1 open() failed", when, record.Error},
		{"2026-11-20 15:04:05 10.0.0.1 GET /errors - 80 ERROR", when, record.None},
		{"2026-11-20\t15:04:05\tLAX1\t2390\t192.0.2.100\tGET", when, record.None},
		{"https 2026-11-20T15:04:05.000000Z app/my-loadbalancer/50dc6c 192.168.131.39:2817 - 0.0", when, record.None},
		{"1795187045.000    921 192.168.0.1 TCP_MISS/200 1 GET http://error/", when, record.Info},
		// Java
		{"2026-11-20 15:04:05,000 - INFO  [QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181:F@774] - Notification", when, record.Info},
		{"2026-11-20 15:04:05,000 ERROR [main] com.example.Main: x", when, record.Error},
		{"2026-11-20 15:04:05,000 [main] WARN  com.example.Main - x", when, record.Warn},
		{"2026-11-20 15:04:05.000  INFO 1 --- [           main] c.e.Main : Started", when, record.Info},
		{"2026-11-20 15:04:05 main DEBUG x", when, record.Debug},
		{"2026-11-20 15:04:05.000:INFO:oejs.Server:main: Started", when, record.Info},
		{"Nov 20, 2026 3:04:05 PM org.apache.catalina.core.StandardService start", when, record.None},
		{"SEVERE: Servlet threw exception", "", record.Error},
		{"20-Nov-2026 15:04:05.000 INFO [main] org.apache.catalina.startup x", when, record.Info},
		{"26/11/20 15:04:05 INFO executor.CoarseGrainedExecutorBackend: x", when, record.Info},
		{"261120 150405 148 INFO dfs.DataNode$PacketResponder: x", when, record.Info},
		{"[INFO] 2026-11-20 15:04:05 x", when, record.Info},
		{"INFO  2026-11-20 15:04:05 x", when, record.Info},
		{"[main] ERROR com.example.Main - x", "", record.Error},
		// Python, Ruby, Go, Rust, Erlang, .NET, PHP
		{"ERROR:root:msg", "", record.Error},
		{"2026-11-20 15:04:05,000 - simple_example - DEBUG - debug message", when, record.Debug},
		{"2026-11-20 15:04:05,000 - root - ERROR - x", when, record.Error},
		{"INFO:2026-11-20 15:04:05,000:x", when, record.Info},
		{"[2026-11-20 15:04:05,000: WARNING/MainProcess] x", when, record.Warn},
		{"[2026-11-20 15:04:05 +0000] [123] [INFO] Listening", when, record.Info},
		{"[E 261120 15:04:05 web:2063] 500 GET", when, record.Error},
		{"[I 2026-11-20 15:04:05.000 ServerApp] x", when, record.Info},
		{"2026-11-20 15:04:05.000 | SUCCESS  | __main__:<module>:1 - x", when, record.Info},
		{"2026-11-20 15:04:05.000 | error    | __main__:<module>:1 - x", when, record.Error},
		{"I, [2026-11-20T15:04:05.000000 #1234]  INFO -- : x", when, record.Info},
		{"2026/11/20 15:04:05 error opening file", when, record.None},
		{"2026/11/20 15:04:05 ERROR opening file", when, record.Error},
		{"2026/11/20 15:04:05 main.go:12: x", when, record.None},
		{"2026-11-20T15:04:05.000Z\tinfo\tcontroller/main.go:12\tx", when, record.Info},
		{"2026-11-20T15:04:05.000Z\tWARN\tx", when, record.Warn},
		{"\x1b[2m2026-11-20T15:04:05.000000Z\x1b[0m \x1b[32m INFO\x1b[0m x", when, record.Info},
		{"2026-11-20 15:04:05.000 [info] <0.123.0> x", when, record.Info},
		{"fail: Microsoft.AspNetCore[0]", "", record.Error},
		{"[2026-11-20T15:04:05.000000+00:00] app.ERROR: x", when, record.Error},
		{"INFO[0000] starting", "", record.Info},
		{"panic: runtime error: index out of range", "", record.Fatal},
		// databases
		{"2026-11-20 15:04:05.000 UTC [1234] ERROR:  relation does not exist", when, record.Error},
		{"2026-11-20 15:04:05.000 UTC [1234] user@db LOG:  connected", when, record.Info},
		{"2026-11-20T15:04:05.000000Z 0 [Warning] [MY-010068] [Server] x", when, record.Warn},
		{"261120 15:04:05 [Note] x", when, record.Info},
		{"1234:M 20 Nov 2026 15:04:05.000 * Ready", when, record.Info},
		{"2026-11-20T15:04:05.000+0000 E NETWORK  [conn1] x", when, record.Error},
		{`{"t":{"$date":"2026-11-20T15:04:05.000+00:00"},"s":"W",  "c":"NETWORK", "id":22943}`, when, record.Warn},
		// clusters and clouds
		{"I1120 15:04:05.000000    1234 file.go:12] ERROR x", when, record.Info},
		{"E20261120 15:04:05.000000    1234 file.cc:12] x", when, record.Error},
		{"nova-api.log.1.2017-05-16_13:53:08 2026-11-20 15:04:05.000 25746 INFO nova.osapi_compute [req-3] x", when, record.Info},
		{"11-20 15:04:05.000  1702  2395 D WindowManager: x", when, record.Debug},
		{"11-20 15:04:05.000 W/WindowManager( 1702): x", when, record.Warn},
		{"2026-11-20T15:04:05.000000000Z stderr F ERROR x", when, record.None},
		{"web-1  | 2026-11-20 15:04:05 INFO x", when, record.Info},
		{"web | 2026-11-20 15:04:05 [ERROR] x", when, record.Error},
		{`web | {"level":"error","time":"2026-11-20T15:04:05Z"}`, when, record.Error},
		{"[pod/web-1/app] 2026-11-20T15:04:05.000000000Z x", when, record.None},
		{"- 1795187045 2026.11.20 R02-M1-N0-C:J12-U11 x", when, record.None},
		{"2026-11-20 15:04:05, Info                  CBS    Loaded", when, record.Info},
		{"type=SYSCALL msg=audit(1795187045.000:24287): arch=c000003e", when, record.None},
		{"\xef\xbb\xbf2026-11-20 15:04:05 INFO x", when, record.Info},
		{"2026-11-20 15:04:05 INFO x\r", when, record.Info},
		{"2026-11-20 15:04:05\r", when, record.None},
	})
}

// Levels that the fields of a format give: see package parse, which has more cases.
func TestLevelOfFields(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{`10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET /info HTTP/1.1" 404 2 "-" "curl" 0.024`, when, record.Warn},
		{`10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" - -`, when, record.None},
		{`10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1`, when, record.None},
		{`[2026-11-20T15:04:05.000Z] "GET / HTTP/1.1" 503 UF 0 91 3 - "-" "curl" "id" "host" "-"`, when, record.Error},
		{`[2026-11-20T15:04:05.000Z] "quoted" 503`, when, record.None},
		{`https 2026-11-20T15:04:05.000000Z app/lb/50 10.0.0.1:2817 10.0.0.2:80 0.0 0.0 0.0 502 - 34 366 "GET https://a:443/ HTTP/1.1"`, when, record.Error},
		{`Nov 20 15:04:05 lb haproxy[14389]: 10.0.1.2:33317 [20/Nov/2026:15:04:04.655] http-in static/srv1 10/0/30/69/109 503 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`, when, record.Error},
		{`Nov 20 15:04:05 web nginx: 10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 500 2`, when, record.Error},
		{`2026-11-20T15:04:05.000000000Z stdout F 10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 403 2`, when, record.Warn},
		{`<134>Nov 20 15:04:05 web nginx: 10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 500 2`, when, record.Info},
		{"W1120 15:04:05.000000    1234 file.go:12] x", when, record.Warn},
		{`{"version":"1.1","host":"a","short_message":"x","timestamp":1795187045,"level":3}`, when, record.Error},
		{`{"version":"1.1","host":"a","short_message":"x","timestamp":1795187045,"level":0}`, when, record.Fatal},
		{`{"host":"a","short_message":"x","timestamp":1795187045,"level":3}`, when, record.None},
		{`{"level":3,"severity":"warn","version":"1","host":"a","short_message":"x"}`, "", record.Warn},
		{`{"status":500,"time":"2026-11-20T15:04:05Z"}`, when, record.None},
	})
}

// A parser with captures finds levels too, but not against what is recognized.
func TestLevelOfParser(t *testing.T) {
	t.Parallel()
	for text, lines := range map[string]map[string]record.Level{
		"pattern '<_> prio=<level>'": {
			"a prio=warning": record.Warn, "a prio=x": record.None, "INFO a prio=error": record.Info,
			`a [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 500 2`: record.None,
		},
		`regexp '"prio":"(?P<level>[a-z]+)"'`: {
			`{"n":1,"prio":"error"}`: record.Error, `{"level":"info","prio":"error"}`: record.Info, `{"n":1}`: record.None,
		},
		"none": {`{"level":3,"prio":"error"}`: record.None},
	} {
		p, err := parse.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		r := recognize.New(recognize.Options{Parser: p})
		for line, want := range lines {
			if got := r.Stamp([]byte(line), 1, 1).Level; got != want {
				t.Errorf("%s: %s: %v, want %v", text, line, got, want)
			}
		}
	}
}

func TestLevelSpellings(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		// Serilog
		{"[15:04:05 VRB] x", "", record.Trace},
		{"[15:04:05 DBG] x", "", record.Debug},
		{"[15:04:05 INF] x", "", record.Info},
		{"[15:04:05 WRN] x", "", record.Warn},
		{"[15:04:05 ERR] x", "", record.Error},
		{"[15:04:05 FTL] x", "", record.Fatal},
		{"[15:04:05.123 ERR] x", "2026-11-20T15:04:05.123Z", record.Error},
		{"[15:04:05 INFO]: x", "", record.Info},
		{"web-1  | [15:04:05 ERR] x", "", record.Error},
		{"[15:04:05 ERR x] y", "", record.None},
		{"[15:04:05] ERR", "", record.Error},
		{"[25:04:05 ERR] x", "", record.None},
		{"[15:04 ERR] x", "", record.None},
		{"[15:04:05 config] x", "", record.None},
		{"[15:04:05ERR] x", "", record.None},
		{"[15 ERR] x", "", record.None},
		{"done [15:04:05 ERR] x", "", record.None},
		// Redis
		{"1:C 20 Nov 2026 15:04:05.000 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo", when, record.Warn},
		{"1234:S 20 Nov 2026 15:04:05.000 - Accepted 127.0.0.1:1", when, record.Debug},
		{"1234:X 20 Nov 2026 15:04:05.000 . x", when, record.Debug},
		{"12:1234:M 20 Nov 2026 15:04:05.000 * x", when, record.Info},
		{"redis-1  | 1:M 20 Nov 2026 15:04:05.000 * x", when, record.Info},
		{"1234:M 20 Nov 2026 15:04:05.000 + x", when, record.None},
		{"1234:M 20 Nov 2026 15:04:05.000 *x", when, record.None},
		{"1234:Z 20 Nov 2026 15:04:05.000 * x", when, record.None},
		{"12-M 20 Nov 2026 15:04:05.000 * x", when, record.None},
		{"app:M 20 Nov 2026 15:04:05.000 * x", when, record.None},
		{"1234:M 20 Nov 2026 15:04:05.000", when, record.None},
		{"20 Nov 2026 15:04:05.000 # x", when, record.None},
		// Python
		{"Traceback (most recent call last):", "", record.Error},
		{"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 1", "", record.Error},
		{"Traceback (most recent call first)", "", record.None},
		{`{"text": "x\n", "record": {"elapsed": {"repr": "0:00:01", "seconds": 1.0}, "level": {"icon": "x", "name": "ERROR", "no": 40}, "message": "x", "time": {"repr": "2026-11-20 16:04:05.000000+01:00", "timestamp": 1795187045.0}}}`, when, record.Error},
		{`{"record":{"level":{"name":"SUCCESS"},"time":1},"time":"2026-11-20T15:04:05Z"}`, when, record.Info},
		{`{"record":"x","level":"warn","time":"2026-11-20T15:04:05Z"}`, when, record.Warn},
		{`{"record":{"level":3,"time":5}}`, "", record.None},
		{"Exception in thread \"main\" java.lang.IllegalStateException: x\n\tat shop.Main.main(Main.java:3)", "", record.Error},
		{"Unhandled exception. System.Exception: x\n   at Program.Main()", "", record.Error},
		{"Unhandled exceptions: 0", "", record.None},
		{"Internal Server Error: /orders/7\nTraceback (most recent call last):\n", "", record.Error},
		{"2026/11/20 15:04:05 http: panic serving 10.0.0.7:40312: boom\ngoroutine 7 [running]:", when, record.Error},
		{"2026/11/20 15:04:05 http: TLS handshake from 10.0.0.7:40312", when, record.None},
		{"app.rb:3:in `divided_by': divided by 0 (ZeroDivisionError)\n\tfrom app.rb:6:in `<main>'", "", record.Error},
		{"/app/shop.rb:3:in 'Integer#/': divided by 0 (ZeroDivisionError)", "", record.Error},
		{"/app/shop.rb:3: see 'a': b (c)", "", record.None},
		{"/app/shop.py:3: DeprecationWarning: old is deprecated\n  old()", "", record.Warn},
		{"/app/shop.py:3: Warning: old", "", record.Warn},
		{"/app/shop.py:3: see Warning: old", "", record.None},
		{"/app/shop.js:3\nthrow x\n^\n\nError: boom\n    at /app/shop.js:3:11\n\nNode.js v20.15.0", "", record.Error},
		{"node:internal/process:288\r\n  x\r\n  ^\r\n\r\nError: boom\r\n    at /app/shop.js:3:11", "", record.Error},
		{"/app/shop.js:3\n", "", record.None},
		{"Nov 20 15:04:05.123: %LINK-3-UPDOWN: Interface Gi0/1, changed state to down", "2026-11-20T15:04:05.123Z", record.Error},
		{"000012: *Mar  1 00:01:02: %SYS-5-CONFIG_I: Configured from console", "2026-03-01T00:01:02Z", record.Info},
		{"%ASA-4-106023: Deny tcp", "", record.Warn},
		{"load 93%A-3-B: x", "", record.None},
		{"%%SEC-9-X: y %d-3-x: z", "", record.None},
		{"see Traceback (most recent call last):", "", record.None},
		{"2026-11-20 15:04:05 INFO x\nTraceback (most recent call last):", when, record.Info},
		// Blue Gene/L
		{"- 1795187045 2026.11.20 R02-M1-N0-C:J12-U11 2026-11-20-15.04.05.363779 R02-M1-N0-C:J12-U11 RAS KERNEL INFO instruction cache parity error corrected", when, record.Info},
		{"PATTERN 1795187045 2026.11.20 R04-M1-N4-I:J18-U11 2026-11-20-15.04.05.363779 R04-M1-N4-I:J18-U11 RAS APP FATAL ciod: failed", when, record.Fatal},
		{"APPREAD 1795187045 2026.11.20 R04-M1-N4-I:J18-U11 2026-11-20-15.04.05.363779 R04-M1-N4-I:J18-U11 RAS APP FATAL ciod: failed", when, record.Fatal},
		{"- 1795187045 2026.11.20 NULL 2026-11-20-15.04.05.363779 NULL RAS BGLMASTER FAILURE ciodb exited", when, record.Fatal},
		{"- 1795187045 2026.11.20 R30-M0-L2-U01 2026-11-20-15.04.05.363779 R30-M0-L2-U01 RAS LINKCARD SEVERE x", when, record.Error},
		{"- 1795187045 2026.11.20 R30 2026-11-20-15.04.05.363779 R30 RAS KERNEL PANIC", when, record.None},
		{"- 1795187045 2026.11.20 dn228 Nov 20 15:04:05 dn228/dn228 crond(pam_unix)[2915]: ERROR x y", when, record.None},
		{"- 1795187045 2026.11.20 R30 2026-11-20-15.04.05.363779 R30 XYZ KERNEL FATAL x", when, record.None},
	})
}

func TestLevelIsNeverGuessed(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{"2026-11-20 15:04:05 no error found", when, record.None},
		{"2026-11-20 15:04:05 Got ERROR from server", when, record.None},
		{"2026-11-20 15:04:05 GET /errors/list", when, record.None},
		{"2026-11-20 15:04:05 errors: 0", when, record.None},
		{"2026-11-20 15:04:05 config: loaded", when, record.None},
		{"2026-11-20 15:04:05 FAIL TestX", when, record.None},
		{"2026-11-20 15:04:05 warning signs", when, record.None},
		{"2026-11-20 15:04:05 D is a letter", when, record.None},
		{"2026-11-20 15:04:05 \"ERROR\"", when, record.Error},
		{"2026-11-20 15:04:05 [config] x", when, record.None},
		{"2026-11-20 15:04:05 [no error] x", when, record.None},
		{"2026-11-20 15:04:05 ERRORS x", when, record.None},
		{"error found", "", record.None},
		{"Fine weather", "", record.None},
		{"E x", "", record.None},
		{"I/O error", "", record.None},
		{"the ERROR", "", record.None},
		{"http://x/ERROR", "", record.None},
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{`{"time":"2026-11-20T15:04:05Z","level":"INFO","msg":"x"}`, when, record.Info},
		{`{ "level" : "error" , "ts" : 1795187045.0 , "msg":"x" }`, when, record.Error},
		{`{"level":30,"time":1795187045000,"pid":1,"msg":"x"}`, when, record.Info},
		{`{"name":"app","level":50,"msg":"x","time":"2026-11-20T15:04:05.000Z","v":0}`, when, record.Error},
		{`{"level":"10","t":"1795187045"}`, when, record.Trace},
		{`{"@timestamp":"2026-11-20T15:04:05.000Z","log.level":"warn","message":"x"}`, when, record.Warn},
		{`{"@timestamp":"2026-11-20T15:04:05.000Z","log":{"logger":"a","level":"fatal"},"message":"x"}`, when, record.Fatal},
		{`{"@t":"2026-11-20T15:04:05.0000000Z","@mt":"x"}`, when, record.Info},
		{`{"@t":"2026-11-20T15:04:05.0000000Z","@mt":"x","@l":"Error"}`, when, record.Error},
		{`{"timestamp":"2026-11-20 15:04:05,000","severity":"CRITICAL"}`, when, record.Fatal},
		{`{"asctime":"2026-11-20 15:04:05,000","levelname":"WARNING","levelno":30}`, when, record.Warn},
		{`{"asctime":"2026-11-20 15:04:05,000","levelno":40}`, when, record.Error},
		{`{"eventTime":"2026-11-20T15:04:05Z","eventName":"x"}`, when, record.None},
		{`{"TimeGenerated":"2026-11-20T15:04:05Z","Level":"Informational"}`, when, record.Info},
		{`{"timeUnixNano":"1795187045000000000","severityNumber":17,"body":{}}`, when, record.Error},
		{`{"time_unix_nano":1795187045000000000,"severityText":"DEBUG"}`, when, record.Debug},
		{`{"__REALTIME_TIMESTAMP":"1795187045000000","PRIORITY":"3","MESSAGE":"x"}`, when, record.Error},
		{`{"instant":{"epochSecond":1795187045,"nanoOfSecond":0},"level":"WARN"}`, when, record.Warn},
		{`{"timestamp":{"seconds":1795187045,"nanos":5},"severity":"INFO"}`, "2026-11-20T15:04:05.000000005Z", record.Info},
		{`{"ts":1.795187045e9,"level":"info"}`, when, record.Info},
		{`{"ts":1.7951870450000000e+09,"level":"info"}`, when, record.Info},
		{`{"Timestamp":"2026-11-20T16:04:05\u002B01:00","LogLevel":"Information"}`, when, record.Info},

		{`{"time":0.247,"ts":"2026-11-20T15:04:05Z","level":"info"}`, when, record.Info},
		{`{"msg":"a \"quoted\" \\","time":"2026-11-20T15:04:05Z","level":"info"}`, when, record.Info},
		{`{"msg":"{\"level\":\"error\"}","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"ctx":{"level":"error","time":"1999-01-01T00:00:00Z"},"time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"a":[{"level":"error"},"}]"],"time":"2026-11-20T15:04:05Z","level":"debug"}`, when, record.Debug},
		{`{"level":3,"time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"level":"advanced","severity":"warn","time":"2026-11-20T15:04:05Z"}`, when, record.Warn},
		{`{"level":"E","time":"2026-11-20T15:04:05Z"}`, when, record.Error},
		{`{"s":"E","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"time":"2026-11-20T15:04:05Z","level":null,"n":-1.5e3,"b":true,"lvl":"info"}`, when, record.Info},
		{`{"time":"2026-11-20T15:04:05Z","level":"info`, when, record.None},
	})
}

// Senders of containers' output put an application's line into a member.
func TestWrappedLine(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{`{"log":"2026-11-20T15:04:05Z ERROR x\n","stream":"stdout"}`, when, record.Error},
		{`{"stream":"stdout","message":"2026-11-20T15:04:05Z [warn] x"}`, when, record.Warn},
		{`{"body":"{\"level\":\"error\",\"ts\":\"2026-11-20T15:04:05Z\"}","resource":{"a":"b"}}`, when, record.Error},
		{`{"body":"{\"ts\":\"2026-11-20T15:04:05\\u002b00:00\"}"}`, when, record.None},
		{`{"log":"10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] \"GET / HTTP/1.1\" 500 2","stream":"stdout"}`, when, record.Error},
		{`{"log":"INFO x","level":"error","time":"2026-11-20T15:04:05Z"}`, when, record.Error},
		{`{"log":"ERROR x","time":"2026-11-20T15:04:05Z"}`, when, record.Error},
		{`{"log":"2020-01-01T00:00:00Z x","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"log":{"level":"warn"},"time":"2026-11-20T15:04:05Z"}`, when, record.Warn},
		{`{"message":"x","log":"ERROR y","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"log":"{\"log\":\"ERROR x\"}","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"log":"no ERROR","time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"log":"","message":"ERROR x"}`, "", record.Error},
		{`{"path":"/a","body":"ERROR x"}`, "", record.None},
		{`{"log":"ERROR x`, "", record.None},
		{`{"msg":"ERROR x"}`, "", record.None},
		{`{"a":{"log":"ERROR x"}}`, "", record.None},
		{`log="ERROR x" message="2026-11-20T15:04:05Z"`, "", record.None},
	})
}

func TestLogfmt(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{`time="2026-11-20T15:04:05Z" level=info msg="x y"`, when, record.Info},
		{`level=error ts=2026-11-20T15:04:05.000Z caller=main.go:12 msg=x`, when, record.Error},
		{`t=2026-11-20T16:04:05+0100 lvl=dbug msg="a \"b\" level=error"`, when, record.Debug},
		{`ts=1795187045 severity=warning`, when, record.Warn},
		{`timestamp=1795187045000 msg="level=error" done=true level=info`, when, record.Info},
		{`msg="time=2020-01-01T00:00:00Z" time=2026-11-20T15:04:05Z`, when, record.None},
		{`ts=2026-11-20T15:04:05Z request failed level=error`, when, record.None},
		{`level=warn msg=x`, "", record.Warn},
		{`[app] level=warn time=2026-11-20T15:04:05Z`, when, record.Warn},
		{`2026-11-20 15:04:05 level=warn msg=x`, when, record.Warn},
	})
}
