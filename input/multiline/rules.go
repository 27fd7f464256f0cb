package multiline

import (
	"bytes"
	"unicode/utf8"

	"logstow/record/recognize"
)

// action is the decision about a line after a held event.
type action uint8

const (
	// begins an event of its own.
	begins action = iota
	// joins the event, with the line that waited if one does.
	joins
	// undecided joins: the next line decides.
	undecided
)

// state is what the last line of an event was part of. The numbers are stored in positions and
// never change.
type state uint8

const (
	// plain is an unclassified line.
	plain state = iota
	// header is "package.SomeError: text" after a line that reports an error, or a later line of its message; it waits
	// for a frame.
	header
	// frames are lines "  at …" of Java, .NET and Node.
	frames
	// props are the properties that Node prints behind a frame that ends in "{".
	props
	// pyHead is "Traceback (most recent call last):".
	pyHead
	// pyBody are its indented lines.
	pyBody
	// pyEnd is the line with the exception, or one that ends its message.
	pyEnd
	// pyBlank is an empty line after it, waiting.
	pyBlank
	// pyChain is the line that announces another traceback.
	pyChain
	// pyGroup is inside of an exception group, drawn with | and +.
	pyGroup
	// goPanic is "panic: …" or "fatal error: …".
	goPanic
	// goBlank is an empty line after it or after a goroutine, waiting.
	goBlank
	// goFrames is inside of a goroutine.
	goFrames
	// goCall is the line of a function, waiting for the line of its place.
	goCall
	// ruby is inside of a backtrace.
	ruby
	// php is inside of a stack trace.
	php
	// console is what .NET's console logger indents.
	console
	// closed is the last line of an event: no line can join it.
	closed
	// blank is an empty line after one that reports an error, waiting for a header.
	blank
	// pyMessage is a line after a Python exception, waiting.
	pyMessage
	// phpBlank is an empty line after a stack trace of PHP, waiting.
	phpBlank
	// phpNext is "Next Exception: …" of PHP, or a later line of its message; it waits for a stack trace.
	phpNext
	// laravel is inside of "[stacktrace]" of Monolog.
	laravel
	// postgres is a line of PostgreSQL after the first one of a message.
	postgres
	// rustHead is "thread 'main' panicked at src/main.rs:2:5:", which the message follows.
	rustHead
	// rustMessage is a line of the message.
	rustMessage
	// rustFrames is inside of "stack backtrace:".
	rustFrames
	// slowTime is "# Time: …" of MySQL's slow log.
	slowTime
	// slowHead are the other lines of the head of an entry.
	slowHead
	// slowStatement is inside of its statements.
	slowStatement
	// object is inside of an indented JSON object.
	object
	// apt is inside of an entry of apt's history.
	apt
	// report is inside of a report of Erlang.
	report
	// brackets is inside of a record of GlassFish, from "[[" to "]]".
	brackets
	// diagnosis is inside of a record of DB2's diagnostic log.
	diagnosis
	// nodeHead is "/app/shop.js:3", with which Node begins the report of an uncaught exception.
	nodeHead
	// nodeSource is the line of the program that follows, waiting.
	nodeSource
	// nodeCaret is the line with "^" below it.
	nodeCaret
	// nodeBlank is the empty line behind that, waiting.
	nodeBlank
	// indented is inside of lines that only their indent tells: "stack traceback:" of Lua, "Caused by:" of Rust's anyhow, frames of Perl.
	indented
	// powerShell is inside of the place of an error of PowerShell.
	powerShell
	// elixir is inside of "** (RuntimeError) text", or of Erlang's "** Reason for termination ==".
	elixir
	// springHead is the line of asterisks before a report of Spring Boot, waiting, spring the report, or one of Gin about a panic, or
	// a dump of the JVM's threads.
	springHead
	spring
	// dartHead is "Unhandled exception:", or a line of its message, waiting for a frame, dart a frame.
	dartHead
	dart
	// loguru is inside of a traceback of Python's loguru, which has empty lines.
	loguru
	// box is inside of a traceback of Python's Rich, drawn in a box.
	box
	// inner is behind a frame of .NET that ends an exception of an AggregateException, or an empty line behind it, waiting.
	inner
	// elixirHead is "Server: …" or "Request: …" of a failed request, waiting.
	elixirHead
	// tracing is the place or a span of a record of Rust's tracing.
	tracing
	// rails is inside of the report of a failed request of Rails.
	rails
	// nodeEnd is an empty line behind the frames of Node's report of an uncaught exception, waiting for its last line, or that line.
	nodeEnd
	// rule is a line of "=", race is inside of a report of a race detector behind it, sanitizer of one of a sanitizer.
	rule
	race
	sanitizer
	// nativeFrames are frames of a sanitizer, or what follows its summary.
	nativeFrames
	// clickHouse is inside of a stack trace of ClickHouse.
	clickHouse
	// fpm is inside of an entry of PHP-FPM's slow log.
	fpm
	// csvQuote is inside of a quoted column of PostgreSQL's csvlog.
	csvQuote
	// webLogic is inside of a record of WebLogic.
	webLogic
	// clientLog is inside of a record of Configuration Manager's clients.
	clientLog
	// klogText is inside of a text of several lines of klog.
	klogText
	// crashHead is the "#" before a report of a crash of the JVM, waiting, crash the report.
	crashHead
	crash
	// diagnostic is a diagnostic of a compiler, source the line of the program that may follow, waiting, caret a line below that.
	diagnostic
	source
	caret
	// label is a diagnostic of rustc, gutter the lines below it.
	label
	gutter
	// messageBox is inside of a message in a box.
	messageBox
	// nodeMemory is inside of Node's report that it ran out of memory.
	nodeMemory
	// pyRemote is before the traceback of another process of Python.
	pyRemote
	// elastic is inside of torchrun's report about failed processes.
	elastic
	// throwing is inside of the call stack of an exception of macOS and iOS.
	throwing
	// listed is inside of a trace of OCaml, Julia or Crystal.
	listed
	// block is inside of indented lines that an empty line may end.
	block
	// minio is inside of an error of MinIO.
	minio
	// prettyHead is a diagnostic of tsc with the line of the program below it, prettyBlank an empty line in it, waiting, prettySource
	// another line.
	prettyHead
	prettyBlank
	prettySource
	// cmake is inside of a message of CMake.
	cmake
	// dHead is an exception of D, dFrames are its frames.
	dHead
	dFrames
	// rError is inside of an error of R.
	rError
	// zig is inside of a trace of Zig, nim of one of Nim.
	zig
	nim
	// numbered are frames of Swift.
	numbered
	states
)

// mayHaveTime reports whether a line that leads to the state may have a time of its own. The other states are those of
// lines whose beginning rules that out.
func (s state) mayHaveTime(line []byte) bool {
	switch s {
	case header, props, pyBody, pyMessage, pyEnd, loguru, box, phpNext, console, rails, rustMessage, slowStatement, report, brackets, diagnosis, spring, dartHead,
		race, sanitizer, csvQuote, webLogic, clientLog, source, caret, elastic,
		prettySource, cmake, rError, zig:
		return len(line) > 0
	case closed:
		return !hasPrefix(line, "End-Date: ")
	case postgres, goPanic, goFrames:
		return line[0] == '\t'
	case object: // values may be times, but in quotes or without '-'
		rest := bytes.TrimLeft(line, " \t")
		return len(rest) > 4 && isDigit(rest[0]) && rest[4] == '-'
	}
	return false
}

// trimmed returns a line without a carriage return at its end.
func trimmed(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// next decides about a line after an event whose last line left it in state s. For plain, header
// and goCall the text is that of its first line alone or begins with it.
func (s state) next(text, line []byte) (action, state) {
	line = trimmed(line)
	switch s {
	case plain:
		return afterPlain(text, line)
	case header:
		return afterHeader(line)
	case frames:
		if first, _, _ := bytes.Cut(text, []byte("\n")); len(line) == 0 && isNodePlace(trimmed(first)) {
			return undecided, nodeEnd
		}
		return afterFrames(line)
	case props:
		if hasPrefix(line, "  ") {
			return joins, props
		}
		if string(line) == "}" {
			return joins, frames
		}
	case pyHead, pyBody, pyEnd, pyBlank, pyChain, pyGroup, pyMessage, loguru, box, pyRemote, elastic:
		if s == pyEnd && isRule(line) && bytes.Contains(text, []byte("ChildFailedError:")) {
			return joins, elastic
		}
		return s.afterPython(line)
	case goPanic, goBlank, goFrames, goCall:
		return s.afterGo(line)
	case ruby:
		if isRubyFrom(line) || isRubyFrame(bytes.TrimLeft(line, "\t")) {
			return joins, ruby
		}
	case php, phpBlank, phpNext, laravel:
		return s.afterPHP(line)
	case console:
		if hasPrefix(line, consoleIndent) {
			return joins, console
		}
	case blank:
		return afterBlank(line)
	case postgres:
		if hasPrefix(line, "\t") || isPostgresField(text, line) {
			return joins, postgres
		}
	case rustHead, rustMessage, rustFrames:
		return s.afterRust(line)
	case slowTime, slowHead, slowStatement:
		return s.afterSlow(line)
	case object:
		if hasPrefix(line, " ") || hasPrefix(line, "\t") {
			return joins, object
		}
		if string(line) == "}" {
			return joins, closed
		}
	case apt:
		return afterApt(line)
	case report, brackets, diagnosis, webLogic, clientLog:
		return s.afterBlock(line)
	case nodeHead, nodeSource, nodeCaret, nodeBlank, nodeEnd:
		return s.afterNode(line)
	case indented, powerShell, elixir, elixirHead, springHead, spring, dartHead, dart, inner, tracing:
		return s.afterTrace(line)
	case rails:
		return afterRails(text, line)
	case rule, race, sanitizer, nativeFrames:
		return s.afterSanitizer(text, line)
	case clickHouse:
		return afterClickHouse(line)
	case fpm:
		if len(line) == 0 { // between entries
			return joins, closed
		}
		if hasPrefix(line, "script_filename = ") || hasPrefix(line, "[0x") {
			return joins, fpm
		}
	case klogText:
		return afterKlog(line)
	case crashHead, crash:
		return s.afterCrash(text, line)
	case diagnostic, source, caret, label, gutter:
		return s.afterDiagnostic(text, line)
	case messageBox:
		return afterBox(line)
	case nodeMemory, throwing, listed, block, minio:
		return s.afterReport(line)
	case prettyHead, prettyBlank, prettySource, cmake, dHead, dFrames, rError, zig, nim, numbered:
		return s.afterCrashed(text, line)
	case csvQuote:
		if hasOpenQuote(line) {
			return joins, closed
		}
		return joins, csvQuote
	}
	return begins, plain
}

// afterPlain decides by the first bytes for nearly all lines.
func afterPlain(text, line []byte) (action, state) {
	if len(line) == 0 {
		if mentionsError(text) {
			return undecided, blank
		}
		return begins, plain
	}
	c := line[0]
	switch {
	case c == ' ' || c == '\t':
		return afterPlainIndented(text, line)
	case c == 'T' && isTraceback(line):
		return joinsError(text, pyHead)
	case c == 'T' && hasPrefix(line, "Trace[") && bytes.Contains(text, []byte("] Trace[")): // of Kubernetes
		return joins, plain
	case c == 'g' && isGoroutine(line):
		return joinsError(text, goFrames)
	case c == 'L' && string(line) == "Line |": // of PowerShell
		return joins, gutter
	case (c == '"' || c == '{' || c == '[') && isAnnounced(text, line):
		return joins, block
	case (c == 'S' || c == 'P') && isPHPHeader(line):
		return joinsError(text, php)
	case c == '[' && isLaravelHeader(line):
		return joinsError(text, laravel)
	case isTrace(line) != plain:
		return joinsError(text, isTrace(line))
	case c == 'C' && hasPrefix(line, "CallStack (from HasCallStack):"): // of Haskell
		return joins, indented
	case isLetter(c) || c == '/' || c == '.':
		end := word(line)
		switch {
		case end < len(line) && line[end] == ':' && isRubyFrame(line):
			return joinsError(text, ruby)
		case isHeader(line, end) && (mentionsError(text) || isQualified(line[:end]) && isLogged(text)):
			return undecided, header
		case isGoCall(line, end) && (mentionsError(text) || isLogged(text)):
			return undecided, goCall
		case isElixirRequest(line) && mentionsError(text):
			return undecided, elixirHead
		case hasPrefix(line, "future: <") && mentionsError(text): // of Python's asyncio
			return undecided, pyChain
		case isRemote(line):
			return joinsError(text, pyRemote)
		}
	}
	if isPostgresField(text, line) {
		return joins, postgres
	}
	if (isUpper(c) || c >= utf8.RuneSelf) && recognize.IsJavaLevel(line) && isJavaHeader(text) {
		return joins, plain
	}
	return afterException(text, line)
}

// afterException decides about a line that may be of the message of an exception that the text names.
func afterException(text, line []byte) (action, state) {
	if isRecord(line) || sharesStart(text, line) || !namesException(text) {
		return begins, plain
	}
	if isClickHouse(line) { // behind a query of several lines
		return joins, clickHouse
	}
	return undecided, header
}

// afterHeader decides about a line after "package.SomeError: text".
func afterHeader(line []byte) (action, state) {
	if v, s := afterFrames(line); v == joins {
		return v, s
	}
	switch {
	case isPHPHeader(line):
		return joins, php
	case isLaravelHeader(line):
		return joins, laravel
	case isClickHouse(line):
		return joins, clickHouse
	case isRecord(line):
		return begins, plain
	}
	return undecided, header
}

// joinsError joins only the unambiguous beginning of a trace to a line that mentions an error.
func joinsError(text []byte, s state) (action, state) {
	if mentionsError(text) {
		return joins, s
	}
	return begins, plain
}
