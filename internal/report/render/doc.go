// Package render writes the results of a run: a Report as JSON, text or HTML, a summary of one screen, and a line of
// progress for each second.
//
// Text, Markdown and HTML write the tables of the function tables. A new section is one function that returns a
// table, in its list there.
//
// Text has no columns beyond 80 and is ASCII; for the same Report it is the same, byte for byte.
package render
