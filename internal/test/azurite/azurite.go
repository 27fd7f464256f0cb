// Package azurite starts Azurite, Microsoft's emulator of Azure Storage, for
// tests: on free loopback ports, in memory, ended with the test. Nothing but
// tests and the tools around them may import it.
package azurite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The account that Azurite always has. Its key is public knowledge, not a secret.
// https://learn.microsoft.com/azure/storage/common/storage-connect-azurite
const (
	Account = "devstoreaccount1"
	Key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Env is the environment variable with the connection string of a running Azurite; [Start] uses
// that one if it is set.
const Env = "LOGSTOW_AZURITE"

// ErrMissing reports that node or npm is missing on this machine.
var ErrMissing = errors.New("azurite needs node and npm, which are not installed")

// startTimeout bounds the start of the node process, not the installation.
const startTimeout = 2 * time.Minute

// Azurite is a running storage emulator.
type Azurite struct {
	// BlobEndpoint and TableEndpoint are the account's URLs, without a final slash.
	BlobEndpoint, TableEndpoint string

	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
}

// Run starts Azurite from the npm package in testdata/azurite of the module around the working
// directory, installing it first if necessary. args are further arguments of Azurite, file names
// among them absolute. The caller must Close it.
func Run(ctx context.Context, args ...string) (*Azurite, error) {
	home, err := packageDir()
	if err != nil {
		return nil, err
	}
	if err := install(ctx, home); err != nil {
		return nil, err
	}
	a := &Azurite{done: make(chan struct{})}
	if err := a.start(ctx, home, args); err != nil {
		return nil, fmt.Errorf("start azurite: %w", err)
	}
	return a, nil
}

func (a *Azurite) start(ctx context.Context, home string, args []string) error {
	args = append([]string{
		"start.cjs", "--silent", "--skipApiVersionCheck", "--disableTelemetry",
		"--inMemoryPersistence",
		"--blobHost", "127.0.0.1", "--blobPort", "0",
		"--queueHost", "127.0.0.1", "--queuePort", "0",
		"--tableHost", "127.0.0.1", "--tablePort", "0",
		// By default idle connections are closed after 5 seconds, often under a request.
		"--blobKeepAliveTimeout", "600", "--tableKeepAliveTimeout", "600",
	}, args...)
	out := newWatcher()
	// The process outlives ctx, which bounds only the start.
	a.cmd = exec.CommandContext(context.WithoutCancel(ctx), "node", args...)
	a.cmd.Dir = home
	a.cmd.Stdout, a.cmd.Stderr = out, out
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		return err
	}
	a.stdin = stdin
	if err := a.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(a.done)
		_ = a.cmd.Wait() // its output shows how it ended
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-out.ready:
		a.BlobEndpoint = out.blob + "/" + Account
		a.TableEndpoint = out.table + "/" + Account
		return nil
	case <-a.done:
		return fmt.Errorf("node ended at once: %s", out.tail())
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), a.stop(), fmt.Errorf("output of node: %s", out.tail()))
	}
}

// stop ends the process and waits for it.
func (a *Azurite) stop() error {
	err := a.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-a.done
	_ = a.stdin.Close()
	return err
}

// Close ends Azurite; its data is gone. It does nothing if Azurite was started elsewhere.
func (a *Azurite) Close() error {
	if a.cmd == nil {
		return nil
	}
	return a.stop()
}

// ConnectionString is what AZURE_STORAGE_CONNECTION_STRING must be to use it.
func (a *Azurite) ConnectionString() string {
	scheme, _, _ := strings.Cut(a.BlobEndpoint, ":")
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;TableEndpoint=%s;",
		scheme, Account, Key, a.BlobEndpoint, a.TableEndpoint)
}

// Container is an unused container name. The container is not created.
func (a *Azurite) Container() string {
	return "t-" + strings.ToLower(rand.Text())
}

// attach is the Azurite for a connection string made by ConnectionString.
func attach(connection string) (*Azurite, error) {
	a := &Azurite{}
	for part := range strings.SplitSeq(connection, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "BlobEndpoint":
			a.BlobEndpoint = value
		case "TableEndpoint":
			a.TableEndpoint = value
		}
	}
	if a.BlobEndpoint == "" || a.TableEndpoint == "" {
		return nil, fmt.Errorf("%s must be a connection string with BlobEndpoint and TableEndpoint", Env)
	}
	return a, nil
}
