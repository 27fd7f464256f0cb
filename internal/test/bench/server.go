package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// listening matches the line in which our programs log the address that they listen on.
func listening() *regexp.Regexp { return regexp.MustCompile(`"address":"([^"]+)"`) }

// server is a program that serves until it is stopped.
type server struct {
	ctx   context.Context
	cmd   *exec.Cmd
	began time.Time
	// drained is closed once the program's log has ended.
	drained chan struct{}
}

// serve starts a program and waits until a line of its log matches ready. It returns the first group of the match.
func (b *suite) serve(ready *regexp.Regexp, path string, args ...string) (*server, string, error) {
	s := &server{ctx: b.ctx, cmd: exec.CommandContext(b.ctx, path, args...), began: time.Now(), drained: make(chan struct{})}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewReader(log)
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if match := ready.FindStringSubmatch(line); match != nil {
			go func() {
				defer close(s.drained)
				_, _ = io.Copy(io.Discard, lines)
			}()
			return s, match[1], nil
		}
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("%s is not ready: %s", path, said.String()), s.cmd.Wait())
		}
	}
}

// stop ends the program and returns what it used.
func (s *server) stop() (row, error) {
	_ = s.cmd.Process.Signal(os.Interrupt)
	<-s.drained
	if err := s.cmd.Wait(); err != nil {
		return row{}, fmt.Errorf("%s: %w", s.cmd.Path, err)
	}
	return used(s.cmd.ProcessState, time.Since(s.began))
}

// request sends a request and returns its answer and how long it took. A body is sent with POST.
func (s *server) request(url, contentType string, body io.Reader) (answer []byte, took time.Duration, err error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(s.ctx, method, url, body)
	if err != nil {
		return nil, 0, err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	answer, err = io.ReadAll(response.Body)
	took = time.Since(began)
	if response.StatusCode >= http.StatusMultipleChoices {
		err = errors.Join(err, fmt.Errorf("status %d: %.500s", response.StatusCode, answer))
	}
	return answer, took, errors.Join(err, response.Body.Close())
}
