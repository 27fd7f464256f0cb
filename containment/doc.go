// Package containment decides which plain segments are contained in outputs of compaction, so that readers ignore them. It uses
// listings and the outputs' lists of inputs: see [Contain]. Package compaction makes the outputs.
package containment
