// Package patterns finds the templates of messages: what is constant in many lines, with the
// wildcard <_> for what varies, as in
//
//	Failed password for <_> from <_> port <_> ssh<_>
//
// A [Counter] counts records by the shape of their message, and [Counter.Result] merges shapes into
// templates. Both steps depend on nothing but which records were counted: not on their order, nor
// on how they were distributed over counters that are merged by [Counter.Merge].
//
// # Text
//
// The text of a message is the first line of its message member ([Text]), without blanks at its
// ends. Its first 1 KiB and 64 words count.
//
// # Shapes
//
// A shape is the text with <_> in place of what is variable in any text: numbers, and words that
// start with a digit, have several groups of digits or are hexadecimal; UUIDs, addresses, times and
// dates; absolute paths and the rest of URLs; quoted strings, other than requests in access logs;
// alphabetic values of key=value pairs, other than truth values and null; the word after "user";
// control characters and invalid UTF-8. Neighbouring wildcards are one, repeated words that contain one
// are one word, and blanks are one space.
//
// # Templates
//
// Shapes that differ in one word only are one template with <_> for that word if it has at least 5
// values, or if the values look like identifiers. What the values have in common at their ends stays.
// Shapes in which several words vary, each with at least 10 values, and no more than are constant, are
// one template, too. At last, a template that another matches word by word becomes part of it.
//
// # Limits
//
// Up to [MaxShapes] shapes are kept as they are. Past that, shapes are grouped by their number of
// words and a hash of their first words. In groups of more than 64 shapes, words at positions with
// many values are replaced by <_>, which is deterministic, too. If more than twice MaxShapes shapes
// remain, then records of further shapes are counted as [Result].Ungrouped; only then may a result
// depend on the order of records.
package patterns
