// Package cluster is what the kubectl plugin does with an API server: it creates LoadTests, follows
// them, changes what may change while they run, and fetches their reports. What people see of a
// LoadTest is made by functions of the object and the time alone.
package cluster
