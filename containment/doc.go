// Package containment decides which plain segments are in outputs of compaction, so that readers leave
// them out: [Contain], by listings and the outputs' lists of inputs. Package compaction makes the outputs.
package containment
