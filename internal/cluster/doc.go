// Package cluster has the requests of the kubectl plugin to the API server: it creates LoadTests, follows them, changes
// the fields that may change while they run, and fetches their reports. The functions that show a LoadTest depend only
// on the object and the time.
package cluster
