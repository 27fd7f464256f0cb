// Package docscheck holds tests of the documentation: what it says can be run is
// run, and what it names is looked up.
package docscheck
