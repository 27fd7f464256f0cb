// Package docscheck tests the documentation: it runs the commands in it, checks that what it names
// exists, and keeps old words out of the tree.
package docscheck
