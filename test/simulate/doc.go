// Package simulate runs the whole system in one process and in virtual time: operators, runners and targets are real,
// and the API server, the cluster and the network are models.
package simulate
