// Package azurite starts Azurite, Microsoft's emulator of Azure Storage, for
// tests: on free loopback ports, in memory, ended with the test. Nothing but
// tests and the tools around them may import it.
//
// To run a command with it:
//
//	go run ./internal/test/azurite/cmd/azurite-run COMMAND...
//
// This sets AZURE_STORAGE_CONNECTION_STRING, and LOGSTOW_AZURITE, by which test binaries share the process.
//
// The tests run against Azurite 3.37.0, which differs from Azure:
//
//   - Wrong key, expired SAS, wrong token: 403 AuthorizationFailure. Azure: 403 AuthenticationFailed with a detail, 401 for tokens. Both
//     are access denied, with the same hints
//   - Create under a taken name with a create-only SAS: 403 AuthorizationPermissionMismatch: access denied. Azure: 403
//     UnauthorizedBlobOverwrite: the name is taken, the next number follows
//   - Blob Batch with an account SAS: 500 without a code: blobs are deleted one by one. Service SAS, key and token work. Azure: works
//   - A range that starts exactly at a blob's end: 206 with Content-Range: bytes 5-4/5 and no bytes. Azure: 416 InvalidRange
//   - Case of metadata keys: lower case in listings. Azure: as written. Readers compare keys case-insensitively
//   - Size of an entity: counts the bytes of the JSON, base64 included, against 1 MiB. Azure: counts as Entity.Size does
//   - Dropping a table or a container: the name is free at once. Azure: the name stays taken for half a minute and more
//     (TableBeingDeleted, ContainerBeingDeleted)
//   - Single quotes in keys of entities in a transaction's URL: accepted doubled and not doubled. Azure: must be doubled
//   - Tokens: only over TLS and with --oauth basic; signatures are not checked. Azure: checked
//   - A table's SAS: key ranges (spk, epk) are signed and ignored; transactions are rejected, single entities are written. Azure: key
//     ranges hold; transactions work
//   - Directories in listings: never. Azure: with a hierarchical namespace, as empty blobs, which stay when their blobs are deleted;
//     shipper retain removes those of past days
//   - A directory's SAS (sr=d): not supported. Azure: works with a hierarchical namespace
//   - Immutability policies, legal holds, throttling: none: tested with a fake network. Azure: as documented
//   - Default tier of the account: always hot; listings have AccessTierInferred unless a tier was set. Azure: hot, cool, cold or smart;
//     accounts without tiers reject one, and the tier is then left out
//   - Redundancy: RA-GRS; the secondary location is the path ACCOUNT-secondary, always in sync by its statistics, but without
//     containers. Azure: by account; other kinds are tested with a fake network
//   - Write with a key or an account SAS to a missing container: 404 ContainerNotFound. Azure: the same; a role or signature for another
//     container gets 403 first
//   - A blob that is created while garbage is collected, every ten minutes: its content may be lost: reads get 500. The tests' Azurite
//     collects what was garbage ten minutes earlier. Azure: kept
//   - Idle connections: closed after 5 seconds, often under a request; the tests set 10 minutes. Azure: kept for minutes
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
