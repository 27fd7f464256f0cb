package logql_test

// counts is the number of records of each service; of them 80 are before 10 minutes.
const counts = `sum by (service_name) (count_over_time({service_name=~".+"}[10m]))`

// vectorQueries are aggregations of vectors and functions of them.
func vectorQueries() []query {
	queries := []query{
		q("fleet", `sum by (level) (count_over_time({service_name=~".+"}[5m]))`),
		q("fleet", `sum(count_over_time({service_name=~".+"}[5m])) by (level)`),
		q("fleet", `sum by () (count_over_time({service_name=~".+"}[1m]))`, `{} 8`),
		q("fleet", `sum without () (count_over_time({service_name="cron"}[5m]))`),
		q("fleet", `sum by (nothing) (count_over_time({service_name=~".+"}[1m]))`, `{} 8`),
		q("fleet", `sum by (level, nothing) (count_over_time({service_name=~".+"}[1m]))`),
		q("fleet", `count(count_over_time({service_name=~".+"}[1m]))`),
		q("fleet", `count by (level) (sum by (level, service_name) (count_over_time({service_name=~".+"}[1m])))`),
		q("fleet", `sum(sum by (service_name) (sum by (service_name, level) (count_over_time({service_name=~".+"}[1m]))))`, `{} 8`),
		q("fleet", `sum(rate({service_name="nothing"}[1m]))`, empty()...),
		q("fleet", `sum by (path) (count_over_time({service_name="api"} | logfmt [3m]))`),
		q("kv", `sum by (x) (max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`),
		q("kv", `max(max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{} +Inf`),
		q("kv", `min(max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{} 1`),
		q("kv", `avg(max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{} NaN`),
		q("kv", `topk(2, max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{bytes="10B"} +Inf`, `{bytes="many"} 1`),
		q("kv", `bottomk(2, max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{bytes="many"} 1`, `{bytes="10B"} +Inf`),
		q("kv", `sort(max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{bytes="many"} 1`, `{bytes="10B"} +Inf`, `{bytes="1.5KiB"} NaN`),
		q("kv", `sort_desc(max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{bytes="10B"} +Inf`, `{bytes="many"} 1`, `{bytes="1.5KiB"} NaN`),
		q("kv", `sort_desc(sum by (instance) (sum_over_time({service_name="gate"} | logfmt q | unwrap q [1h])))`, `{instance="g-2"} 50`, `{instance="g-1"} 22`),
		q("kv", `sort(sum by (instance) (sum_over_time({service_name="gate"} | logfmt q | unwrap q [1h])))`, `{instance="g-1"} 22`, `{instance="g-2"} 50`),
		q("kv", `topk(1, sum by (instance) (sum_over_time({service_name="gate"} | logfmt q | unwrap q [1h])))`, `{instance="g-2"} 50`),
		q("kv", `topk(1, sum by (q, instance) (count_over_time({service_name="gate"} | logfmt q | q!="" [5m])))`),
		q("fleet", `topk(3, sum by (level, service_name) (count_over_time({service_name=~".+"}[5m])))`),
		q("fleet", `topk(2, count_over_time({service_name=~".+"}[30s]))`),
		q("fleet", `topk(100, count_over_time({service_name=~".+"}[30s]))`),
		q("fleet", `topk by (service_name) (1, sum by (service_name, level) (count_over_time({service_name=~".+"}[5m])))`),
		q("fleet", `topk(1, sum by (service_name, level) (count_over_time({service_name=~".+"}[5m]))) by (level)`),
		q("fleet", `bottomk without (level) (2, sum by (service_name, level) (count_over_time({service_name=~".+"}[5m])))`),
		q("fleet", `bottomk(3, sum by (level, service_name) (count_over_time({service_name=~".+"}[5m])))`),
		q("fleet", `topk(2, bottomk(4, sum by (service_name, level) (rate({service_name=~".+"}[5m]))))`),
		q("fleet", `sum(topk(2, sum by (service_name) (count_over_time({service_name=~".+"}[5m]))))`),
		q("fleet", `sort(topk(3, sum by (level, service_name) (count_over_time({service_name=~".+"}[5m]))))`),
		q("fleet", `sort_desc(count_over_time({service_name="api"}[5m])) + 1`),
		q("fleet", `vector(1)`, `{} 1`),
		q("fleet", `vector(2.5e3)`, `{} 2500`),
		q("fleet", `sum(vector(3))`, `{} 3`),
		q("fleet", `topk(1, vector(3))`, `{} 3`),
		q("fleet", `label_replace(`+counts+`, "kind", "$1-x", "service_name", "(a|w).*")`),
		q("fleet", `label_replace(vector(1), "a", "b", "x", "")`, `{a="b"} 1`),
		q("fleet", `label_replace(vector(1), "a", "b", "nothing", ".+")`, `{} 1`),
		q("fleet", `label_replace(sum by (service_name) (rate({service_name="api"}[5m])), "service_name", "", "service_name", ".*") * 0`, `{} 0`),
		q("fleet", `label_replace(sum by (service_name) (rate({service_name="api"}[5m])), "x", "$2$1", "service_name", "(.)(.*)") * 0`, `{service_name="api", x="pia"} 0`),
		q("fleet", `label_replace(sum by (service_name) (rate({service_name="api"}[5m])), "x", "new", "service_name", "ap") * 0`, `{service_name="api"} 0`),
		q("fleet", `label_replace(sum by (service_name) (rate({service_name="api"}[5m])), "x", "${n}!", "service_name", "(?P<n>a).*") * 0`, `{service_name="api", x="a!"} 0`),
		q("fleet", `label_replace(vector(1), "x", "const", "", "")`, `{x="const"} 1`),
		q("fleet", `label_replace(sum by (service_name) (rate({service_name="api"}[5m])), "x", "const", "", "") * 0`, `{service_name="api", x="const"} 0`),
		q("fleet", `label_replace(vector(1), "x", "<$0>", "no label", ".*")`, `{x="<>"} 1`),
		q("fleet", `label_replace(vector(1), "x", "const", "", "y")`, `{} 1`),
		q("fleet", `approx_topk(3, sum by (level, service_name) (count_over_time({service_name=~".+"}[5m])))`),
		q("kv", `approx_topk(2, max_over_time({service_name="gate"} | logfmt x, bytes | unwrap x [1h]) by (bytes))`, `{bytes="10B"} +Inf`, `{bytes="many"} 1`),
		q("fleet", `count_over_time({service_name=~".+"}[0s])`, empty()...),
		q("fleet", `sum(rate({service_name=~".+"}[0s]))`, empty()...),
		q("kv", `quantile_over_time(0.5, {service_name="gate"} | logfmt | unwrap q [0s])`, empty()...),
		q("fleet", `absent_over_time({service_name=~".+", level="info"}[0s])`, `{level="info"} 1`),
		q("fleet", `count_over_time({service_name=~".+"}[0s]) or vector(3)`, `{} 3`),
		q("fleet", `SUM(Count_Over_Time({service_name=~".+"}[1m]))`, `{} 8`),
		q("kv", `Sum by (instance) (Sum_over_time({service_name="gate"} | Logfmt q | Unwrap q [1h]))`, `{instance="g-1"} 22`, `{instance="g-2"} 50`),
		q("fleet", `sum(count_over_time({service_name=~".+"}[1m])) * 1_000 + 0x1p3`, `{} 8008`),
		q("fleet", `0x1P-1 + 1_0.5`, `{} 11`),
		q("fleet", `sum by (kind) (label_replace(`+counts+`, "kind", "$1", "service_name", ".(.).*"))`),
	}
	for _, op := range []string{"sum", "avg", "min", "max", "count", "stddev", "stdvar"} {
		queries = append(queries,
			q("fleet", op+`(sum by (service_name, level) (count_over_time({service_name=~".+"}[2m])))`),
			q("fleet", op+` by (level) (count_over_time({service_name=~".+"}[2m]))`),
			q("fleet", op+` without (level) (rate({service_name=~".+"}[2m]))`),
			q("kv", op+`(max_over_time({service_name="gate"} | logfmt temp, q | unwrap temp [2m]) by (q))`))
	}
	return queries
}

// binaryQueries are operations on two operands.
func binaryQueries() []query {
	const (
		byLevel = `sum by (service_name, level) (count_over_time({service_name=~".+"}[5m]))`
		errs    = `sum by (service_name) (count_over_time({service_name=~".+", level="error"}[5m]))`
		all     = `sum by (service_name) (count_over_time({service_name=~".+"}[5m]))`
	)
	queries := []query{
		// Literals, and which operator binds more.
		q("fleet", `1 + 2 * 3`, `{} 7`),
		q("fleet", `(1 + 2) * 3`, `{} 9`),
		q("fleet", `2 ^ 3 ^ 2`, `{} 512`),
		q("fleet", `2 * 3 % 2`, `{} 0`),
		q("fleet", `1 + 2 / 4`, `{} 1.5`),
		q("fleet", `10 - 3 - 2`, `{} 5`),
		q("fleet", `100 / 10 / 2`, `{} 5`),
		q("fleet", `2 * 3 ^ 2 + 1`, `{} 19`),
		q("fleet", `-7 % 3`, `{} -1`),
		q("fleet", `-2 + +3`, `{} 1`),
		q("fleet", `1 >= 1`, `{} 1`),
		q("fleet", `1 + 1 > 5`, `{} 0`),
		q("fleet", `2 == 1 + 1`, `{} 1`),
		q("fleet", `0.5 != 1`, `{} 1`),
		q("fleet", `3`, `{} 3`),
		q("fleet", `vector(1)+vector(1)`, `{} 2`),
		q("fleet", `vector(1) + vector(2) * vector(3)`, `{} 7`),
		q("fleet", `(vector(1) + vector(2)) * vector(3)`, `{} 9`),
		q("fleet", `vector(2) ^ vector(3) ^ vector(2)`, `{} 512`),
		q("fleet", `vector(10) - vector(3) - vector(2)`, `{} 5`),
		q("fleet", `vector(7) % vector(4) * vector(2)`, `{} 6`),
		q("fleet", `vector(1) + vector(1) > vector(5)`, empty()...),
		q("fleet", `vector(1) + vector(1) == bool vector(2)`, `{} 1`),
		q("fleet", `vector(1) or vector(2) and vector(3)`, `{} 1`),
		q("fleet", `vector(1) unless vector(2) or vector(3)`, `{} 3`),
		q("fleet", `vector(1) > vector(0) or vector(3)`, `{} 1`),
		q("fleet", `2 ^ vector(3) - 1`, `{} 7`),
		q("fleet", `vector(5) > 3`, `{} 5`),
		q("fleet", `3 < vector(5)`, `{} 5`),
		q("fleet", `3 > bool vector(5)`, `{} 0`),
		q("fleet", `vector(3) and on () vector(5)`, `{} 3`),

		// A vector and a literal.
		q("fleet", counts+` * 2`),
		q("fleet", `100 - `+counts),
		q("fleet", counts+` ^ 2 / 10`),
		q("fleet", counts+` % 7`),
		q("fleet", `2 ^ (`+counts+` / 10)`),
		q("fleet", counts+` > 20`),
		q("fleet", counts+` >= 20 < 30`),
		q("fleet", `20 < `+counts),
		q("fleet", counts+` > bool 20`),
		q("fleet", `20 >= bool `+counts),
		q("fleet", counts+` == 8`),
		q("fleet", counts+` != 8`),
		q("fleet", counts+` == bool 8`),
		q("fleet", counts+` <= 8`),
		q("fleet", `sum(`+counts+`) > 1000`, empty()...),
		q("fleet", `sum(`+counts+`) > bool 1000`, `{} 0`),
		q("fleet", `-1 * `+counts),
		q("fleet", `sum(count_over_time({service_name="nothing"}[5m])) or vector(0)`, `{} 0`),
		q("fleet", `sum(count_over_time({service_name=~".+"}[1m])) or vector(0)`, `{} 8`),
		q("fleet", `sum(count_over_time({service_name="nothing"}[5m])) + 1`, empty()...),

		// Set operators.
		q("fleet", byLevel+` and `+byLevel+` > 2`),
		q("fleet", byLevel+` unless `+byLevel+` > 2`),
		q("fleet", byLevel+` > 3 or `+byLevel+` < 2`),
		q("fleet", all+` or `+errs),
		q("fleet", errs+` or `+all),
		q("fleet", byLevel+` and on (service_name) `+errs),
		q("fleet", byLevel+` unless on (service_name) `+errs),
		q("fleet", byLevel+` and ignoring (level) `+errs),
		q("fleet", byLevel+` unless ignoring (level) `+errs),
		q("fleet", errs+` or on (service_name) `+byLevel),
		q("fleet", errs+` or ignoring (level) `+byLevel),
		q("fleet", byLevel+` and on () vector(1)`),
		q("fleet", byLevel+` and on (service_name) group_left `+errs),
		q("fleet", byLevel+` unless ignoring (level) group_right (x) `+errs),
		q("fleet", errs+` or on (service_name) group_left () `+byLevel),
		q("fleet", byLevel+` and `+errs, empty()...),
		q("fleet", byLevel+` and `+byLevel+` or vector(7)`),
		q("fleet", `rate({service_name=~"api|web"}[1m]) and rate({service_name="web"}[1m])`),

		// group_left and group_right.
		q("fleet", byLevel+` / on (service_name) group_left `+all),
		q("fleet", byLevel+` / on (service_name) group_left () `+all),
		q("fleet", byLevel+` / ignoring (level) group_left `+all),
		q("fleet", all+` / on (service_name) group_right `+byLevel),
		q("fleet", all+` - ignoring (level) group_right `+byLevel),
		q("fleet", byLevel+` > on (service_name) group_left `+errs),
		q("fleet", byLevel+` > bool on (service_name) group_left `+errs),
		q("fleet", errs+` < on (service_name) group_right `+byLevel),
		q("fleet", byLevel+` * on (service_name) group_left (tier) label_replace(`+all+`, "tier", "t-$1", "service_name", "(.).*")`),
		q("fleet", byLevel+` * on (service_name) group_left (level) label_replace(`+all+`, "level", "", "service_name", "api")`, refFails),
		q("fleet", `label_replace(`+all+`, "tier", "t-$1", "service_name", "(.).*") * on (service_name) group_right (tier) `+byLevel),
		q("fleet", `count_over_time({service_name="api"}[5m]) / on () group_left sum(count_over_time({service_name="api"}[5m]))`),
		q("fleet", `sum by (service_name, level) (rate({service_name=~".+"}[5m])) / on (service_name) group_left sum by (service_name) (rate({service_name=~".+"}[5m])) * 100`),
		q("fleet", `sum by (service) (count_over_time({service_name=~".+"}[5m])) / on (service) group_left sum by (service) (count_over_time({service_name=~".+"}[10m]))`),

		// Matches that are not unique.
		q("fleet", byLevel+` / on (service_name) `+all, refFails),
		q("fleet", all+` / on (service_name) `+byLevel, refFails),
		q("fleet", byLevel+` + on (service_name) `+byLevel, refFails),
		q("fleet", byLevel+` + on (service_name) group_left `+byLevel, refFails),
		q("fleet", byLevel+` + ignoring (level) group_right `+byLevel, refFails),
		q("fleet", all+` + on () group_left `+all, refFails),
		q("fleet", byLevel+` + `+all, empty()...),
		q("fleet", all+` + on (nothing) sum(`+all+`)`, refFails),
		q("fleet", `sum(`+all+`) - on () sum(`+errs+`)`),
		q("fleet", `max by (service_name) (count_over_time({service_name=~".+"}[1m])) > bool ignoring (service_name) group_left avg(count_over_time({service_name=~".+"}[1m]))`),

		// Others.
		q("fleet", `(`+errs+` / `+all+`) * 100`),
		q("fleet", errs+` / `+all+` + `+errs+` * 2 - 1`),
		q("fleet", all+` - `+all+` == 0`),
		q("fleet", `sum(count_over_time({service_name=~".+"}[1m])) - sum(count_over_time({service_name=~".+"}[1m] offset 1m))`, `{} 0`),
		q("fleet", `sum by (service_name) (count_over_time({service_name=~".+"}[1m])) > sum by (service_name) (count_over_time({service_name=~".+"}[1m] offset 1m))`),
		q("fleet", `sum by (service_name) (sum by (source, service_name) (count_over_time({service_name=~".+"}[2m])) / 2)`),
		q("fleet", `sum by (source) (count_over_time({service_name=~".+"}[2m]) * 2)`),
		q("kv", `max_over_time({service_name="gate"} | logfmt x | unwrap x [1h]) by (level) == max_over_time({service_name="gate"} | logfmt x | unwrap x [1h]) by (level)`),
		q("kv", `max_over_time({service_name="gate"} | logfmt temp, q | unwrap temp [1h]) by (q) != bool 1`),
	}
	for _, op := range []string{"+", "-", "*", "/", "%", "^", "==", "!=", ">", ">=", "<", "<="} {
		queries = append(queries,
			q("fleet", errs+` `+op+` `+all),
			q("fleet", all+` `+op+` on (service_name) (`+errs+` + 1)`),
			q("fleet", `sum by (service_name, instance) (count_over_time({service_name=~".+"}[1m])) `+op+` ignoring (instance) group_left sum by (service_name) (count_over_time({service_name=~".+"}[2m]))`))
	}
	for _, op := range []string{"==", "!=", ">", ">=", "<", "<="} {
		queries = append(queries, q("fleet", all+` `+op+` bool ignoring (x) (`+errs+` * 5)`))
	}
	return queries
}
