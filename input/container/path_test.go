package container_test

import (
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/input/container"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for path, want := range map[string]container.Pod{
		"/var/log/containers/web-5d9c7b-x2x_shop_nginx-" + id + ".log":          {Namespace: "shop", Pod: "web-5d9c7b-x2x", Container: "nginx"},
		"/var/log/containers/web_shop_side-car-" + id + ".log":                  {Namespace: "shop", Pod: "web", Container: "side-car"},
		"/var/log/pods/shop_web-5d9c_0f0e-11/nginx/0.log":                       {Namespace: "shop", Pod: "web-5d9c", Container: "nginx"},
		"/host/var/log/pods/shop_web-5d9c_0f0e-11/nginx/12.log.20261120-150405": {Namespace: "shop", Pod: "web-5d9c", Container: "nginx"},
		"/var/log/pods/shop_web-5d9c_0f0e-11/nginx/3.log.20261120-150405.gz":    {Namespace: "shop", Pod: "web-5d9c", Container: "nginx"},
		"/var/log/containers/web_shop_nginx.log":                                {},
		"/var/log/containers/web_shop_nginx-.log":                               {},
		"/var/log/containers/web_shop_-1.log":                                   {},
		"/var/log/containers/web_nginx-" + id + ".log":                          {},
		"/var/log/containers/web_shop_nginx-" + id + ".txt":                     {},
		"/var/log/pods/shop_web/nginx/0.log":                                    {},
		"/var/log/pods/shop_web_uid/nginx/x.log":                                {},
		"/var/log/pods/shop_web_uid/0.log":                                      {},
		"/var/log/syslog":                                                       {},
		"":                                                                      {},
		"0.log":                                                                 {},
	} {
		got, ok := container.ParsePath(path)
		if ok != (want != container.Pod{}) || ok && got != want {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	pod := container.Pod{Namespace: "shop", Pod: "web-5d9c", Container: "nginx"}
	for text, want := range map[string]string{
		"{namespace}.{container}":               "shop.nginx",
		"{container}":                           "nginx",
		"{pod}-{pod}":                           "web-5d9c-web-5d9c",
		"K8s/{namespace}":                       "k8s-shop",
		"..{container}..":                       "nginx",
		"---":                                   "unknown",
		"a" + strings.Repeat("-", 70) + "{pod}": "a",
	} {
		p, err := container.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Service(pod); got != want || !blobnaming.ValidService(got) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "{node}", "{pod", "{}", "x{pod}{"} {
		if _, err := container.ParsePattern(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestPatternOf(t *testing.T) {
	t.Parallel()
	p, err := container.ParsePattern("{namespace}.{container}")
	if err != nil {
		t.Fatal(err)
	}
	service, source, ok := p.Of("/var/log/pods/shop_web-5d9c_0f0e-11/nginx/0.log")
	if service != "shop.nginx" || source != "shop/web-5d9c/nginx" || !ok {
		t.Errorf("%q, %q, %v", service, source, ok)
	}
	if service, source, ok := p.Of("/var/log/syslog"); service != "" || source != "" || ok {
		t.Errorf("another path: %q, %q, %v", service, source, ok)
	}
}

func FuzzParsePath(f *testing.F) {
	f.Add("/var/log/containers/web_shop_nginx-0123.log", "{namespace}.{container}")
	f.Add("/var/log/pods/shop_web_uid/nginx/0.log", "{pod}")
	f.Fuzz(func(t *testing.T, path, text string) {
		pod, ok := container.ParsePath(path)
		if ok != (pod.Namespace != "" && pod.Pod != "" && pod.Container != "") {
			t.Fatalf("%q: %+v, %v", path, pod, ok)
		}
		p, err := container.ParsePattern(text)
		if err != nil {
			return
		}
		if s := p.Service(pod); !blobnaming.ValidService(s) {
			t.Fatalf("%q of %+v gives service %q", text, pod, s)
		}
	})
}
