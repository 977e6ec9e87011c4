// Package usl fits the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007) to the
// loads of a run. It says how the rate of a target follows from the number of requests in flight: contention
// makes the rate rise less and less, and coherency makes it fall after a knee. The functions are pure.
package usl
