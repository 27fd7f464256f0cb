package syntax

import (
	"strings"
	"testing"
)

func TestPretty(t *testing.T) {
	for _, test := range []struct{ query, want string }{
		{`sum(rate({a="b"}|="x"[5m]))`, `sum(rate({a="b"} |= "x" [5m]))`},
		{
			`{service_name="checkout", level="error"} |= "payment" != "sandbox" | json | took_ms > 250 or status >= 500 | line_format "{{.msg}}"`,
			`
{service_name="checkout", level="error"}
  |= "payment"
  != "sandbox"
  | json
  | took_ms > 250 or status >= 500
  | line_format "{{.msg}}"`,
		},
		{
			`topk by (env) (5, quantile_over_time(0.99, {service_name="checkout", level="error"} | json | unwrap duration(took) | __error__="" [5m] offset 1h) by (env, route))`,
			`
topk by (env) (
  5,
  quantile_over_time(
    0.99,
    {service_name="checkout", level="error"} [5m] offset 1h
      | json
      | unwrap duration(took)
      | __error__=""
  ) by (env, route)
)`,
		},
		{
			`sum by (route) (rate({service_name="checkout"} | json | status >= 500 [5m])) / on (route) group_left sum by (route) (rate({service_name="checkout"} | json [5m])) * 100 > bool 5`,
			`
    sum by (route) (rate({service_name="checkout"} | json | status >= 500 [5m]))
  / on (route) group_left
    sum by (route) (rate({service_name="checkout"} | json [5m]))
  *
    100
> bool
  5`,
		},
		{
			`(sum by (route) (rate({service_name="checkout"} | json [5m])) + sum by (route) (rate({service_name="cart"} | json [5m]))) * 60`,
			`
  (
      sum by (route) (rate({service_name="checkout"} | json [5m]))
    +
      sum by (route) (rate({service_name="cart"} | json [5m]))
  )
*
  60`,
		},
		{
			`label_replace(avg by (pod) (count_over_time({service_name="checkout", instance=~"checkout-.*"} |= "x" [5m])), "zone", "$1", "pod", "(.*)-.*")`,
			`
label_replace(
  avg by (pod) (count_over_time({service_name="checkout", instance=~"checkout-.*"} |= "x" [5m])),
  "zone", "$1", "pod", "(.*)-.*"
)`,
		},
		{
			`count_over_time({service_name="checkout", instance=~"checkout-.*"} |= "a rather long text to look for" | logfmt [5m])`,
			`
count_over_time(
  {service_name="checkout", instance=~"checkout-.*"}
    |= "a rather long text to look for"
    | logfmt
  [5m]
)`,
		},
	} {
		e := mustParse(t, test.query)
		if got, want := Pretty(e), strings.TrimPrefix(test.want, "\n"); got != want {
			t.Errorf("%s\ngot\n%s\nwant\n%s", test.query, got, want)
		}
	}
}
