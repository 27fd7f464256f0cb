package azure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// maxMessage is the maximum length in bytes of a response's text in an error.
const maxMessage = 300

// maxPageStart is how much of an HTML page is searched for its title, in bytes.
const maxPageStart = 4096

// serviceError is the error in a response of the service.
type serviceError struct {
	status        int
	code, message string
	// page reports an HTML page, which a proxy sends.
	page bool
}

// readServiceError reads code and message of an error response. A failed transaction responds 202,
// with the actual status and code in one of its parts.
func readServiceError(e *azcore.ResponseError) serviceError {
	parsed := serviceError{status: e.StatusCode, code: e.ErrorCode}
	if e.RawResponse == nil {
		return parsed
	}
	body, err := runtime.Payload(e.RawResponse)
	if err != nil {
		return parsed // status and code of the header suffice
	}
	if e.StatusCode == http.StatusAccepted {
		if status, part, ok := failedPart(body); ok {
			parsed.status, body = status, part
		}
	}
	if title, ok := pageTitle(body); ok && parsed.code == "" {
		parsed.page, parsed.message = true, strings.TrimRight("an HTML page: "+flat(title), ": ")
		return parsed
	}
	code, message := parseServiceError(body)
	if parsed.code == "" {
		parsed.code = code
	}
	parsed.message = oneLine(message)
	return parsed
}

// failedPart finds the first failed response inside the response to a transaction: it is an HTTP response
// inside two layers of multipart.
func failedPart(body []byte) (status int, part []byte, ok bool) {
	start := regexp.MustCompile(`HTTP/1\.1 [45]\d\d `).FindIndex(body)
	if start == nil {
		return 0, nil, false
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(body[start[0]:])), nil)
	if err != nil {
		return 0, nil, false
	}
	defer func() { _ = resp.Body.Close() }()
	part, err = io.ReadAll(resp.Body)
	if err != nil && len(part) == 0 {
		return 0, nil, false
	}
	// Without a Content-Length the part ends at the boundary.
	if i := bytes.LastIndexByte(part, '}'); i >= 0 {
		part = part[:i+1]
	}
	return resp.StatusCode, part, true
}

// pageTitle reports whether the body of a response is an HTML page, and returns its title, "" if it has none.
func pageTitle(body []byte) (title string, ok bool) {
	body = body[:min(len(body), maxPageStart)]
	if !regexp.MustCompile(`(?is)^\s*<(!doctype html|html)\b`).Match(body) {
		return "", false
	}
	if found := regexp.MustCompile(`(?is)<title[^>]*>([^<]*)`).FindSubmatch(body); found != nil {
		return string(found[1]), true
	}
	return "", true
}

// parseServiceError reads the body of an error response: XML from blobs, JSON from tables.
func parseServiceError(body []byte) (code, message string) {
	var x struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
		Detail  string `xml:"AuthenticationErrorDetail"`
	}
	if err := xml.Unmarshal(body, &x); err == nil {
		// The detail distinguishes an expired SAS and a wrong clock from a wrong signature, but may also quote the
		// whole signed string, which is of no use.
		if strings.Contains(x.Detail, "time frame") || reportsClock(errors.New(x.Detail)) {
			return x.Code, x.Detail
		}
		return x.Code, x.Message
	}
	var j struct {
		Error struct {
			Code    string `json:"code"`
			Message struct {
				Value string `json:"value"`
			} `json:"message"`
		} `json:"odata.error"`
	}
	if err := json.Unmarshal(body, &j); err == nil {
		return j.Error.Code, j.Error.Message.Value
	}
	return "", ""
}

// oneLine returns the first line of a message, truncated to maxMessage. Further lines of the service only
// repeat the request's id and time.
func oneLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSuffix(cut(strings.TrimSpace(line), maxMessage), ".")
}

// flat joins the lines of a text, without ruled lines, truncated to twice maxMessage.
func flat(s string) string {
	words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return strings.Trim(w, "-") == "" })
	return cut(strings.Join(words, " "), 2*maxMessage)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
