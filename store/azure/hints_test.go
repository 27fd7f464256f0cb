package azure_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"logstow/internal/hint"
	"logstow/store/azure"
)

// TestDeniedHints: the hint for status 403 is by the SAS, the detail of the response and its type.
func TestDeniedHints(t *testing.T) {
	t.Parallel()
	const xml, html = "application/xml", "text/html"
	const full = "sv=2021-12-02&ss=bt&srt=sco&sp=rl&se=2030-01-01&sig=CANARY"
	failed := func(code, detail string) string {
		return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>Server failed to authenticate the request.\nRequestId:1</Message>" +
			"<AuthenticationErrorDetail>" + detail + "</AuthenticationErrorDetail></Error>"
	}
	const key = "AccountKey=" + testKey
	tests := []struct {
		name       string
		connection string
		operation  string
		date       string // of the response; the clock of this machine shows midnight of 1 January 2000
		kind, body string
		want       []string
	}{
		{
			"old date, key", key, list, "", xml, failed("AuthenticationFailed", "Request date header too old: 'Fri, 31 Dec 1999 23:00:00 GMT'"),
			[]string{"Request date header too old", "clock is off by more than 15 minutes"},
		},
		{
			"old date and the date of storage", key, list, "Sat, 01 Jan 2000 01:00:00 GMT", xml,
			failed("AuthenticationFailed", "Request date header too old: 'Sat, 01 Jan 2000 00:00:00 GMT'"),
			[]string{"clock is off by -1h0m0s"},
		},
		{
			"tables, date", key, query, "", "application/json",
			`{"odata.error":{"code":"AuthenticationFailed","message":{"lang":"en-US","value":"The Date header in the request is incorrect.\nRequestId:1"}}}`,
			[]string{"clock is off by more than 15 minutes"},
		},
		{"signature", key, list, "", xml, failed("AuthenticationFailed", "The MAC signature found in the HTTP request is not the same"), []string{"was not rotated"}},
		{
			"not yet valid", "SharedAccessSignature=" + full + "&st=2000-01-02T00:00:00Z", list, "", xml, failed("AuthenticationFailed", ""),
			[]string{"not valid before 2000-01-02T00:00:00Z (st=)"},
		},
		{
			"not yet valid by the clock of storage", "SharedAccessSignature=" + full + "&st=1999-12-31", list, "Thu, 30 Dec 1999 00:00:00 GMT", xml,
			failed("AuthenticationFailed", ""),
			[]string{"not valid before 1999-12-31T00:00:00Z"},
		},
		{
			"expired by the clock of storage", "SharedAccessSignature=" + full, query, "Wed, 02 Jan 2030 00:00:00 GMT", xml,
			failed("AuthenticationFailed", ""),
			[]string{"the SAS expired at 2030-01-01T00:00:00Z"},
		},
		{
			"policy expired", "SharedAccessSignature=si=policy&sr=c&sig=CANARY", list, "", xml,
			failed("AuthenticationFailed", "Signature not valid in the specified time frame: Start [a] - Expiry [b] - Current [c]"),
			[]string{"stored access policy"},
		},
		{
			"permission", "SharedAccessSignature=" + full, create, "", xml, failed("AuthorizationPermissionMismatch", ""),
			[]string{"permission c (create)", "this one has sp=rl"},
		},
		{
			"service", "SharedAccessSignature=ss=b&srt=sco&sp=rl&sig=CANARY", query, "", xml, failed("AuthorizationServiceMismatch", ""),
			[]string{"(ss=bt)", "this one has ss=b srt=sco"},
		},
		{
			"resource type", "SharedAccessSignature=ss=bt&srt=o&sp=rl&sig=CANARY", list, "", xml, failed("AuthorizationResourceTypeMismatch", ""),
			[]string{"(srt=sco)", "this one has ss=bt srt=o"},
		},
		{
			"SAS of a container for tables", "SharedAccessSignature=sr=c&sp=rl&sig=CANARY", query, "", xml, failed("AuthenticationFailed", ""),
			[]string{"tables need an account SAS", "sr=c"},
		},
		{
			"page of a proxy", key, list, "", html, "\n<!DOCTYPE html><html><head>\n<title>Access\nblocked</title></head></html>",
			[]string{"an HTML page: Access blocked", "a proxy or a login page responded", "acct.blob.core.windows.net"},
		},
		{"page without a title", "SharedAccessSignature=" + full, query, "", html, "<HTML><body>no</body>", []string{"an HTML page", "acct.table.core.windows.net"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := azure.Open(t.Context(), azure.Options{
					Container: "logs", Credential: fromConnection(t, "AccountName=acct;"+tt.connection),
					Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						header := http.Header{"Content-Type": {tt.kind}}
						if tt.date != "" {
							header.Set("Date", tt.date)
						}
						return &http.Response{
							StatusCode: http.StatusForbidden, Status: "Forbidden", Header: header, Request: r,
							Body: io.NopCloser(strings.NewReader(tt.body)), ContentLength: int64(len(tt.body)),
						}, nil
					}),
				})
				if err != nil {
					t.Fatal(err)
				}
				err = do(t.Context(), s, tt.operation)
				checkRefused(t, err, "")
				for _, want := range tt.want {
					if got := hint.Text(err); !strings.Contains(got, want) {
						t.Errorf("error %q does not contain %q", got, want)
					}
				}
				checkClean(t, err)
			})
		})
	}
}
