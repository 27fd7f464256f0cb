package parse_test

import (
	"maps"
	"slices"
	"testing"

	"logstow/message/parse"
)

// samples are lines of each format, by name.
func samples() map[string]string {
	return map[string]string{
		"json":     `{"time":"2026-11-20T15:04:05.123Z","level":"info","logger":"api.orders","msg":"request done","method":"GET","path":"/v1/orders/1234567","status":200,"duration_ms":12.5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`,
		"message":  `{"time":"2026-11-20T15:04:05.123Z","level":"info","logger":"api.orders","message":"request done","method":"GET","path":"/v1/orders/1234567","status":200,"duration_ms":12.5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`,
		"logfmt":   `time=2026-11-20T15:04:05.123Z level=info msg="request done" method=GET path=/v1/orders/1234567 status=200 took=12.5ms trace_id=4bf92f3577b34da6a3ce929d0e0e4736`,
		"text":     `2026-11-20 15:04:05.123 [main] INFO  com.example.orders.OrderService - [7] order 1234567 of customer 42 was accepted and is on its way to the warehouse`,
		"combined": `198.51.100.4 - - [20/Nov/2026:15:04:05 +0100] "GET /v1/orders/1234567?page=2 HTTP/1.1" 200 5123 "https://shop.example/cart" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"`,
		"escaped":  `198.51.100.4 - - [20/Nov/2026:15:04:05 +0100] "GET /\"v1\"/orders?a=\x22 HTTP/1.1" 200 5123 "-" "Mozilla \"5.0\"" rt=0.005`,
		"ingress":  `203.0.113.9 - - [20/Nov/2026:15:04:05 +0000] "GET /api/orders?page=2 HTTP/1.1" 502 552 "https://shop.example/" "curl/8.5.0" 417 1.204 [shop-orders-http] [] 10.1.0.7:8080, 10.1.0.8:8080 0, 552 0.602, 0.601 502, 502 6f1a5b3c9d`,
		"envoy":    `[2026-11-20T15:04:05.310Z] "POST /api/v1/locations?x=1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "locate/1.0" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "10.0.2.1:80"`,
		"haproxy":  `<134>Nov 20 15:04:05 lb1 haproxy[14389]: 10.0.1.2:33317 [20/Nov/2026:15:04:05.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {shop.example|curl} {} "GET /index.html?a=#22b#22 HTTP/1.1"`,
		"alb":      `https 2026-11-20T15:04:05.186641Z app/shop/50dc6c495c0c9188 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 201 39 57 "GET https://shop.example:443/cart?id=7 HTTP/1.1" "curl/8.5.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "shop.example" "arn:aws:acm:us-east-2:123456789012:certificate/1" 1 2026-11-20T15:04:04.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "201" "-" "-" TID_1234abcd5678ef90`,
		"klog":     `I1120 15:04:05.123456   12345 controller.go:116] "Pod status updated" pod="kube-system/kubedns" status="ready"`,
	}
}

func bench(b *testing.B, run func(b *testing.B, message []byte)) {
	lines := samples()
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		message := []byte(lines[name])
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			run(b, message)
		})
	}
}

func compiled(b *testing.B, text string) *parse.Parser {
	b.Helper()
	p, err := parse.Compile(text)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// The cost of recognition alone, on lines of no format (json, logfmt, text).
func BenchmarkRecognize(b *testing.B) {
	s := parse.Auto().Splitter()
	bench(b, func(b *testing.B, message []byte) {
		for b.Loop() {
			s.Split(nil, message)
		}
	})
}

func BenchmarkLevel(b *testing.B) {
	l := parse.Auto().Leveler()
	bench(b, func(b *testing.B, message []byte) {
		for b.Loop() {
			l.Level(message)
		}
	})
}

func BenchmarkStatus(b *testing.B) {
	s := parse.Auto().Splitter("status")
	bench(b, func(b *testing.B, message []byte) {
		for b.Loop() {
			s.Split(nil, message)
			s.Value(0)
		}
	})
}

func BenchmarkFiveFields(b *testing.B) {
	s := parse.Auto().Splitter("status", "method", "path", "user_agent", "duration")
	bench(b, func(b *testing.B, message []byte) {
		for b.Loop() {
			s.Split(nil, message)
			for i := range 5 {
				s.Value(i)
			}
		}
	})
}

func BenchmarkAll(b *testing.B) {
	s := parse.Auto().Splitter()
	bench(b, func(b *testing.B, message []byte) {
		for b.Loop() {
			s.Split(nil, message)
			for range s.All() {
			}
		}
	})
}

func BenchmarkExpressions(b *testing.B) {
	message := []byte(samples()["combined"])
	for name, parser := range map[string]string{
		"pattern": `pattern '<ip> - <user> [<_>] "<method> <path> <_>" <status> <bytes> '`,
		"regexp":  `regexp '" (?P<status>\d{3}) (?P<bytes>\d+)'`,
	} {
		b.Run(name, func(b *testing.B) {
			s := compiled(b, parser).Splitter("status", "bytes")
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				s.Split(nil, message)
				s.Value(0)
				s.Value(1)
			}
		})
	}
}
