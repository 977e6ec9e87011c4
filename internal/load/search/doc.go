// Package search finds the highest load that a target can take: the highest one at which a probe holds, that is at
// which all thresholds pass.
//
// A search first multiplies the load by four until a probe fails, or divides it by four until one holds. Then it probes
// the geometric mean of the highest load that held and the lowest one that did not, until they differ by at most the
// precision. Example: the load between 100 and 400 is 200. At last it probes both loads again. If a result differs from
// the first time, a load next to it decides: either the two loads are a little wrong, as at the edge of what the target
// can take, or the capacity of the target has changed.
//
// From a start within a factor of 64 of the result, a search with a precision of 3 % needs at most 14 probes: 5 until
// one holds and one fails, 6 between them, and 3 to confirm.
//
// A probe in which the generator was the bottleneck counts as one that did not hold. If it is the upper one of the two
// loads at the end, the generator is the result.
//
// The functions are pure. A search is a function of the outcomes of its probes, so a program that restarts replays
// them.
package search
