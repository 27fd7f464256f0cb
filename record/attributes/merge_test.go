package attributes_test

import (
	"fmt"
	"strings"
	"testing"

	"logstow/record/attributes"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range attributes.MaxCount {
		many = append(many, fmt.Sprintf(`"a%03d":1`, i))
	}
	full := "{" + strings.Join(many, ",") + "}"
	for _, c := range []struct{ text, more, want string }{
		{"", "", ""},
		{`{"a":1}`, "", `{"a":1}`},
		{"", `{"resource":{"b":"x"}}`, `{"resource":{"b":"x"}}`},
		{`{"a":1,"z":2}`, `{"resource":{"b":"x"}}`, `{"a":1,"resource":{"b":"x"},"z":2}`},
		{`{"resource":{"a":1,"c":[3]}}`, `{"resource":{"b":"x","c":4}}`, `{"$cut":1,"resource":{"a":1,"b":"x","c":[3]}}`},
		{`{"$cut":2,"a":1}`, `{"$cut":1,"b":2,"scope":{"c":1}}`, `{"$cut":3,"a":1,"b":2,"scope":{"c":1}}`},
		{`{"a":{"$$bytes":"x"},"s":"\""}`, `{"stream":{"$$cut":1}}`, `{"a":{"$$bytes":"x"},"s":"\"","stream":{"$$cut":1}}`},
		{`{"attribute.resource":1}`, `{"resource":{"b":1}}`, `{"attribute.resource":1,"resource":{"b":1}}`},
		{full, `{"b":1}`, `{"$cut":1,` + full[1:]},
		{`{"resource":` + full + "}", `{"resource":{"b":1}}`, `{"$cut":1,"resource":` + full + "}"},
		{"damaged", `{"b":1}`, "damaged"},
	} {
		got := string(attributes.Merge([]byte(c.text), []byte(c.more)))
		if got != c.want || got != "" && got != "damaged" && !attributes.Valid([]byte(got)) {
			t.Errorf("%.200s and %s: %.300s, want %.300s", c.text, c.more, got, c.want)
		}
	}
	long := `{"a":"` + strings.Repeat("x", attributes.MaxSize-9) + `"}`
	if got := attributes.Merge([]byte(long), []byte(`{"resource":{"b":"c"}}`)); len(got) > attributes.MaxSize || !attributes.Valid(got) || !strings.HasPrefix(string(got), `{"$cut":1,"a":"xx`) || !strings.HasSuffix(string(got), `"resource":{"b":"c"}}`) {
		t.Errorf("%d bytes: %.30s … %s", len(got), got, got[max(0, len(got)-30):])
	}
}
