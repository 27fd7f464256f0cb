package syslog

import "bytes"

// maxLabels is how many labels may stand before the time of Cisco's devices.
const maxLabels = 3

// parseCisco parses the part after the priority as Cisco's devices write it, which do not end the time with a space:
//
//	123: core-1: *Nov 20 2026 16:04:05.123 CET: %SYS-5-CONFIG_I: text
//	: 2026 Nov 20 16:04:05 CET: %ETHPORT-5-IF_UP: text
//
// The text begins with the identifier behind "%". If anything but the time stands before it, everything remains in the text.
func parseCisco(s []byte) (header, bool) {
	h := header{bom: -1}
	at := 0
	for range maxLabels {
		n := label(s[at:])
		if n == 0 {
			break
		}
		if name := s[at : at+n-2]; h.host == nil && digits(name) < len(name) {
			h.host = name
		}
		at += n
	}
	mark := at
	if at < len(s) && (s[at] == '*' || s[at] == '.') {
		at++
	}
	n := bsdTime(s[at:])
	if n == 0 {
		return h, false
	}
	end := at + n
	if end < len(s) && s[end] == ' ' {
		if zone := upper(s[end+1:]); zone > 0 {
			end += 1 + zone
		}
	}
	if !bytes.HasPrefix(s[end:], []byte(": %")) {
		return h, false
	}
	h.time = s[at : end+len(": %")]
	if h.rest = s; mark == 0 && at == 0 {
		h.rest = s[end+2:]
	}
	return h, true
}

// label returns the length of a number, a name or nothing before a colon and a space at the start of s, or 0.
func label(s []byte) int {
	for i, c := range s[:min(len(s), maxTag)] {
		switch {
		case c == ':' && i+1 < len(s) && s[i+1] == ' ':
			return i + 2
		case c <= ' ' || c == '%' || c == 0x7f:
			return 0
		}
	}
	return 0
}

// upper returns the length of the capital letters at the start of s.
func upper(s []byte) int {
	n := 0
	for n < len(s) && s[n]-'A' < 26 {
		n++
	}
	return n
}

// forwarded parses the part after the time as AIX forwards it, "Message forwarded from HOST: app[123]: text", and as Junos
// writes it, with a second space before the host.
func forwarded(s []byte) (host, app, proc, rest []byte, ok bool) {
	if from, found := bytes.CutPrefix(s, []byte("Message forwarded from ")); found {
		n := label(from)
		if n <= 2 {
			return nil, nil, nil, nil, false
		}
		host, s = from[:n-2], from[n:]
		if app, proc, rest, ok = tag(s); !ok {
			rest = s
		}
		return host, app, proc, rest, true
	}
	if len(s) > 0 && s[0] == ' ' {
		host, s = word(s[1:])
		if app, proc, rest, ok = tag(s); ok && len(host) > 0 {
			return host, app, proc, rest, true
		}
	}
	return nil, nil, nil, nil, false
}
