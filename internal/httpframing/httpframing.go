// Package httpframing protects servers from requests whose end is ambiguous.
package httpframing

import "net/http"

// CloseAfter makes a connection end with the response to a request that has a Transfer-Encoding. If the request has a
// Content-Length too, a proxy in front may believe that its body ends elsewhere, so what follows must not be taken for another
// request (RFC 9112, section 6.3). net/http removes this Content-Length before handlers see the request, so the connection is closed
// in either case. Call it before the header of the response is written.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
}
