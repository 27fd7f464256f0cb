//go:build !windows

package main

// runAsService is for Windows.
func runAsService() (status int, ok bool) { return 0, false }
