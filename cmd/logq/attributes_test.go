package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Attributes of stored records are fields for every command, and have a place in every format.
func TestAttributes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "store"), "shop", answersNow(),
		`15:04:05 INFO - {"http.route":"/cart","n":5,"resource":{"k8s.pod.name":"shop-5d"},"stream":{"job":"till"}}	served n=7 m=1`,
		`15:04:06 INFO - {"resource":{"k8s.pod.name":"shop-6e"}}	msg=paid n=8`)
	const first = `"attributes":{"http.route":"/cart","n":5,"resource":{"k8s.pod.name":"shop-5d"},"stream":{"job":"till"}}`
	const head = `"service":"shop","source":"-","instance":"pod-1","message":`
	for line, want := range map[string]string{
		`query -o raw shop-5d`:         "served n=7 m=1\n",
		`query -o text -n 1`:           "2026-11-20T15:04:05.000000000Z\tINFO\t-\tserved n=7 m=1\t" + strings.TrimPrefix(first, `"attributes":`) + "\n",
		`query -o json -n 1`:           `{"time":"2026-11-20T15:04:05.000000000Z","level":"INFO",` + head + `"served n=7 m=1",` + first + "}\n",
		`query -o flat -x served`:      `{"time":"2026-11-20T15:04:06.000000000Z","level":"INFO",` + head + `"msg=paid n=8","k8s.pod.name":"shop-6e","msg":"paid","n":"8"}` + "\n",
		`query -o pretty --utc`:        "15:04:05.000 INFO  shop: served n=7 m=1 http.route=/cart n=5 job=till\n15:04:06.000 INFO  shop: paid n=8\n",
		`query -o raw --where 'n > 5'`: "msg=paid n=8\n",
		`query --where 'attribute("k8s.pod.name") == "shop-5d"' --fields 'attribute.n,message.n,attribute("http.route"),m,job'`: "5\t7\t/cart\t1\ttill\n",
		`query -o 'template={{ field "k8s.pod.name" }} {{.n}} {{attribute "n"}}'`:                                               "shop-5d 5 5\nshop-6e 8 \n",
		`stats --by 'attribute("k8s.pod.name")' --compute 'sum(attribute("n")) as a, sum(message.n) as m' -o csv`:               "\"attribute(\"\"k8s.pod.name\"\")\",a,m\nshop-5d,5,7\nshop-6e,,8\n",
		`fields --top 1`: `NAME          TYPE    ATTRIBUTE  COVERAGE  DISTINCT  TOP VALUES
k8s.pod.name  string     100.0%    100.0%         2  shop-5d 50.0%
n             number      50.0%    100.0%         2  5 50.0%
http.route    string     100.0%     50.0%         1  /cart 100.0%
job           string     100.0%     50.0%         1  till 100.0%
m             number       0.0%     50.0%         1  1 100.0%
msg           string       0.0%     50.0%         1  paid 100.0%
`,
		`ql '{service_name="shop"} | k8s_pod_name="shop-6e"' -o json`: `{"time":"2026-11-20T15:04:06Z","labels":{"detected_level":"info","instance":"pod-1","k8s_pod_name":"shop-6e","level":"info","service_name":"shop","source":"-"},` +
			`"line":"msg=paid n=8"}` + "\n",
	} {
		status, stdout, stderr := ask(t, dir, line+" --since 1h")
		if status != 0 || stdout != want {
			t.Errorf("%s: status %d,\n%s, want\n%s; %s", line, status, stdout, want, stderr)
		}
	}
	if _, _, stderr := ask(t, dir, `query --since 1h SHOP`); !strings.Contains(stderr, `2 records contain "SHOP" in another case; -i finds them`) {
		t.Error(stderr)
	}
}
