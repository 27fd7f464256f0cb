//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// systemCommands are the commands of scripts that only some systems can run.
func systemCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"pause":  send(syscall.SIGSTOP),
		"resume": send(syscall.SIGCONT),
		"nobody": nobody,
	}
}

func nobody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: nobody CMD…")
	}
	binary := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], args[0])
	for _, dir := range []string{ts.Getenv("WORK"), filepath.Dir(binary)} {
		for ; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755))
		}
	}
	cmd := exec.Command(binary, args[1:]...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), []string{"XDG_STATE_HOME=" + ts.MkAbs("out/state")}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	fmt.Fprintf(ts.Stderr(), "exit status %d\n", cmd.ProcessState.ExitCode())
}
